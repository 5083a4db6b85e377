// WordBuffer: appends words, to its own storage, which grows, or to lent memory where the device
// will read them, so that no word is copied afterwards.
//
// Capacity: lent memory never grows. The lender proves that everything appended fits; one word more
// fails a CHECK. Nothing here waits.
// Thread safety: one thread at a time.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include "base/util/types.h"

namespace doorbell::hcq {

class WordBuffer {
 public:
  std::span<u32> span() { return {words_, size_}; }
  std::span<const u32> span() const { return {words_, size_}; }
  u32 size() const { return static_cast<u32>(size_); }

  // The index of the first of them.
  u32 append(std::span<const u32> words) {
    u32* const at = extend(words.size());
    if (!words.empty()) std::memcpy(at, words.data(), words.size_bytes());
    return static_cast<u32>(at - words_);
  }
  u32 append_zeros(usize count) {
    u32* const at = extend(count);
    if (count != 0) std::memset(at, 0, count * sizeof(u32));
    return static_cast<u32>(at - words_);
  }

  // Empties it and appends to `memory` from now on, which is borrowed until clear().
  void lend(std::span<u32> memory) {
    words_ = memory.data();
    size_ = 0;
    capacity_ = memory.size();
  }
  // Empties it and returns to storage of its own.
  void clear() {
    words_ = own_.get();
    size_ = 0;
    capacity_ = own_capacity_;
  }

 private:
  u32* extend(usize count) {
    if (count > capacity_ - size_) [[unlikely]]
      grow(count);
    u32* const at = words_ + size_;
    size_ += count;
    return at;
  }
  void grow(usize count);

  std::unique_ptr<u32[]> own_;
  usize own_capacity_ = 0;
  u32* words_ = nullptr;  // in own_, or lent
  usize size_ = 0, capacity_ = 0;
};

}  // namespace doorbell::hcq
