#include "executor/storage.h"

#include <sys/mman.h>

#include <new>
#include <utility>

namespace dsi {

ZeroedMemory::ZeroedMemory(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    bytes_ = 0;
    throw std::bad_alloc();
  }
#if defined(MADV_HUGEPAGE)
  if (bytes >= (size_t{4} << 20)) madvise(p, bytes, MADV_HUGEPAGE);
#endif
  data_ = static_cast<uint8_t*>(p);
}

ZeroedMemory::~ZeroedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

ZeroedMemory::ZeroedMemory(ZeroedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

ZeroedMemory& ZeroedMemory::operator=(ZeroedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace dsi
