// The memory that work items of a group share, for run_linear.h. Finds races: hardware would run
// the items in any order.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <utility>
#include <vector>

#include "core/eval/eval.h"
#include "core/uop/uop.h"

namespace doorbell::codegen {

// The shared memory of a group's work items, and, for the whole grid, which item stored each
// element.
class SharedMemory {
 public:
  // A read or write of element `at` of `memory`, by `item` of the group, between two barriers.
  core::ScalarValue& at(core::UOp memory, i64 at, i64 item, bool writes);
  // A read by a matrix instruction that may be done later: nobody may write the element until then.
  core::ScalarValue& read_later(core::UOp memory, i64 at, i64 item);
  // The end of a batch of them, and the wait for all but the last `left` batches.
  void end_batch();
  void finish(usize left);
  void next_group() {
    finish(0);
    arrays_.clear();
  }
  void barrier() { ++phase_; }
  // Two work items that store one element of a buffer do so in any order.
  void stores(core::UOp param, i64 at, i64 item_of_grid);

 private:
  struct Cell {
    core::ScalarValue value;
    i64 write_phase = -1, read_phase = -1;
    i64 writer = -1, reader = -1;  // -1: nobody
    i64 read_later = 0;            // by how many
  };
  using Batch = std::vector<std::pair<core::UOp, i64>>;  // elements
  absl::flat_hash_map<const core::Node*, std::vector<Cell>> arrays_;
  absl::flat_hash_map<const core::Node*, std::vector<i64>> stored_by_;
  std::vector<Batch> batches_{1};  // the last one has not ended
  i64 phase_ = 0;
};

}  // namespace doorbell::codegen
