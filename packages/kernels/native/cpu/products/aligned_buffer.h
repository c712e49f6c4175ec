// Memory aligned for vectors, in huge pages where it is large. Not for translation units of an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dsi::products {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t bytes) { reserve(bytes); }
  ~AlignedBuffer() { std::free(data_); }
  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  // At least `bytes`; contents are lost when it grows. Throws std::bad_alloc.
  uint8_t* reserve(size_t bytes) {
    if (bytes <= size_) return data_;
    std::free(data_);
    data_ = nullptr;
    size_ = 0;
    // Huge pages only where they are whole: the rest of the buffer must not cost one.
    const size_t alignment = bytes >= kHuge ? kHuge : 64, rounded = (bytes + 63) / 64 * 64;
    void* p = nullptr;
    if (posix_memalign(&p, alignment, rounded) != 0) throw std::bad_alloc();
#if defined(__linux__)
    if (alignment == kHuge) madvise(p, rounded / kHuge * kHuge, MADV_HUGEPAGE);  // advice only
#endif
    data_ = static_cast<uint8_t*>(p);
    size_ = rounded;
    return data_;
  }
  template <class T>
  T* array(size_t count) {
    return reinterpret_cast<T*>(reserve(count * sizeof(T) + 64));
  }

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  static constexpr size_t kHuge = size_t{2} << 20;
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dsi::products
