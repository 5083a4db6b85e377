// Grows the storage of a WordBuffer.
#include "hcq/queue/word_buffer.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::hcq {

void WordBuffer::grow(usize count) {
  CHECK(words_ == own_.get(), "{} words more in lent memory that holds {} of {}", count, size_,
        capacity_);
  constexpr usize kLeast = 64;
  const usize capacity = std::max({size_ + count, 2 * own_capacity_, kLeast});
  std::unique_ptr<u32[]> larger(new u32[capacity]);
  if (size_ != 0) std::memcpy(larger.get(), own_.get(), size_ * sizeof(u32));
  own_ = std::move(larger);
  own_capacity_ = capacity_ = capacity;
  words_ = own_.get();
}

}  // namespace doorbell::hcq
