// A file mapped read-only.
#pragma once

#include <cstdint>
#include <string>

namespace dsi {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws WeightError naming the path and the system's reason
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Bytes [offset, offset + size); throws WeightError when the file is shorter.
  const uint8_t* range(uint64_t offset, uint64_t size) const;
  bool contains(const uint8_t* p) const { return p >= data_ && p < data_ + size_; }
  // Takes the whole pages inside [p, p + size) out of this process's memory; they can be read again from the file.
  void drop(const uint8_t* p, size_t size) const;

 private:
  std::string path_;
  const uint8_t* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace dsi
