// Interned tuples of expressions: shapes and the index tuples that the sweep hands from consumers
// to producers. Equal tuples have equal ids, so comparing how two consumers read a value is
// comparing two numbers. For the meaning of the expressions see moves.h.
#pragma once

#include <span>
#include <vector>

#include "core/uop/uop.h"

namespace doorbell::core {

class Tuples {
 public:
  Tuples() : table_(1024, 0) {}

  u32 intern(std::span<const UOp> items);
  // Valid until the next intern.
  std::span<const UOp> operator[](u32 id) const {
    return {items_.data() + starts_[id], starts_[id + 1] - starts_[id]};
  }
  u32 size() const { return static_cast<u32>(hashes_.size()); }

 private:
  void grow();

  std::vector<UOp> items_;
  std::vector<usize> starts_ = {0};
  std::vector<u64> hashes_;
  std::vector<u32> table_;  // id + 1; open addressing, power of two
};

}  // namespace doorbell::core
