// A range of memory that a door mapped, unmapped by its destructor. The code that asked for it
// knows what is in it and who else may change it.
#pragma once

#include <span>
#include <utility>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

class Mapping {
 public:
  // Gives the memory back; `context` is the door's own.
  using Release = void (*)(void* context, u8* data, usize size);

  Mapping() = default;
  Mapping(u8* data, usize size, Release release, void* context)
      : data_(data), size_(size), release_(release), context_(context) {}
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    Mapping taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Mapping() {
    if (release_) release_(context_, data_, size_);
  }

  u8* data() const { return data_; }
  usize size() const { return size_; }
  std::span<u8> bytes() const { return {data_, size_}; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void swap(Mapping& other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(release_, other.release_);
    std::swap(context_, other.context_);
  }

  u8* data_ = nullptr;
  usize size_ = 0;
  Release release_ = nullptr;
  void* context_ = nullptr;
};

// Changes `MapRequest::inherited` of memory that is mapped already.
Result<void> set_inherited(u8* data, usize size, bool inherited);

}  // namespace doorbell::os
