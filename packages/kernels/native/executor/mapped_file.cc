#include "executor/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "executor/errors.h"

namespace dsi {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw WeightError("the file " + path + " cannot be opened: " + std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    throw WeightError("the file " + path + " is not a regular file");
  }
  size_ = static_cast<uint64_t>(info.st_size);
  if (size_ > 0) {
    void* p = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    if (p == MAP_FAILED) {
      close(fd);
      throw WeightError("the file " + path + " cannot be mapped: " + std::strerror(error));
    }
    data_ = static_cast<const uint8_t*>(p);
  }
  close(fd);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

const uint8_t* MappedFile::range(uint64_t offset, uint64_t size) const {
  if (offset > size_ || size > size_ - offset) {
    throw WeightError("bytes " + std::to_string(offset) + ".." + std::to_string(offset + size) + " lie beyond the end of " + path_ +
                      ", which has " + std::to_string(size_) + ": the file is cut off, fetch it again");
  }
  return data_ + offset;
}

void MappedFile::drop(const uint8_t* p, size_t size) const {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + page - 1) / page * page;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(p) + size) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace dsi
