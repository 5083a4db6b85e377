// GraphProgram: evaluates scalar graphs, given values of their leaves: index expressions,
// arithmetic, Reduce and End as loops, Load and Store on real memory. Slow and right: the oracle of
// the fuzzers and of interpret.h. For the meaning of one op see eval.h. It does not support vectors
// and staged memory.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "core/eval/eval.h"

namespace doorbell::core {

class GraphProgram {
 public:
  // The roots' graph must outlive the program. Ranges that no Reduce or End closes are leaves.
  explicit GraphProgram(std::span<const UOp> roots);
  explicit GraphProgram(UOp root) : GraphProgram(std::span(&root, 1)) {}

  // The value of a leaf (Range, Variable, Special, or any Param read as a value) from now on.
  // Leaves that the graph does not have are ignored.
  void set(UOp leaf, ScalarValue value);
  void set(UOp leaf, i64 value) { set(leaf, ScalarValue::of_int(leaf.dtype(), value)); }
  // The memory behind Param `slot`; borrowed. Reads and writes outside `count` elements, or the
  // Param's own count, are failed CHECKs.
  void set_memory(i64 slot, void* data, i64 count);

  void run();
  // Of a root, after run(). Empty if an Index on the way to it overflowed i64.
  std::optional<ScalarValue> value(UOp root) const;

  // The Variables of the graph, in order of first visit.
  const std::vector<UOp>& variables() const { return variables_; }

 private:
  struct Slot {
    ScalarValue value;
    bool valid = false;  // false: an Index overflowed
    bool bound = false;  // of a leaf
  };
  // A Reduce or End: its ranges, and what depends on them in order of evaluation.
  struct Loop {
    UOp closer;
    std::vector<u32> ranges;    // slots
    std::vector<u32> body;      // slots, in order
    std::vector<u32> boundary;  // slots that the body reads and that do not vary in it
  };
  struct Memory {
    std::byte* data = nullptr;
    i64 count = 0;
  };

  u32 slot_of(UOp uop) const { return slots_by_node_.find(uop.node())->second; }
  void number(std::span<const UOp> roots);
  void find_ranges();
  void build_loop(u32 slot);
  std::vector<u32> order_of(std::span<const u32> roots, u64 varying, std::vector<u32>* boundary);
  std::span<const u32> children(u32 slot, std::vector<u32>* storage) const;

  void run_list(const std::vector<u32>& list);
  void run_loop(const Loop& loop, u32 slot);
  void run_node(u32 slot);
  void load(u32 slot);
  void store(u32 slot);
  bool gate_open(UOp index) const;
  std::byte* element(UOp index) const;

  std::vector<UOp> nodes_;    // by slot, sources first
  std::vector<Slot> values_;  // by slot
  std::vector<u64> varies_;  // by slot: bits of the Ranges (in order of first visit) it varies with
  std::vector<i32> loop_of_;  // by slot: index into loops_, or -1
  std::vector<Loop> loops_;
  std::vector<u32> top_;  // evaluated once, outside all loops
  std::vector<UOp> variables_;
  std::vector<Memory> memory_;  // by Param slot
  absl::flat_hash_map<const Node*, u32> slots_by_node_;
};

// The value of an expression without memory for given values of its leaves; empty if an Index
// overflowed i64.
std::optional<ScalarValue> evaluate(UOp root, std::span<const std::pair<UOp, ScalarValue>> leaves);

}  // namespace doorbell::core
