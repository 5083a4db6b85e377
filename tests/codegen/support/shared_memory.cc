// Each element knows who read and wrote it since the last barrier.
#include "tests/codegen/support/shared_memory.h"

#include "base/util/check.h"

namespace doorbell::codegen {

using core::Op;
using core::ScalarValue;
using core::UOp;

namespace {

constexpr i64 kNobody = -1, kSeveral = -2;

}  // namespace

ScalarValue& SharedMemory::read_later(UOp memory, i64 at, i64 item) {
  ScalarValue& value = this->at(memory, at, item, false);
  ++arrays_[memory.node()][static_cast<usize>(at)].read_later;
  batches_.back().emplace_back(memory, at);
  return value;
}

void SharedMemory::end_batch() { batches_.emplace_back(); }

void SharedMemory::finish(usize left) {
  while (batches_.size() > left + 1) {
    for (const auto& [memory, at] : batches_.front())
      --arrays_[memory.node()][static_cast<usize>(at)].read_later;
    batches_.erase(batches_.begin());
  }
}

ScalarValue& SharedMemory::at(UOp memory, i64 at, i64 item, bool writes) {
  std::vector<Cell>& cells = arrays_[memory.node()];
  if (cells.empty()) cells.resize(static_cast<usize>(memory.arg(1)));
  CHECK(at >= 0 && at < memory.arg(1), "element {} of {}", at, memory.arg(1));
  Cell& cell = cells[static_cast<usize>(at)];
  bool written = cell.write_phase == phase_, read = cell.read_phase == phase_;
  CHECK(!written || cell.writer == item, "items {} and {} race for local element {}", item,
        cell.writer, at);
  if (writes) {
    CHECK(!read || cell.reader == item, "item {} stores local element {} that {} reads", item, at,
          cell.reader);
    CHECK_EQ(cell.read_later, 0);
    cell.write_phase = phase_, cell.writer = item;
  } else {
    CHECK(cell.writer != kNobody, "item {} reads local element {}, which nobody stored", item, at);
    cell.reader = read && cell.reader != item ? kSeveral : item;
    cell.read_phase = phase_;
  }
  return cell.value;
}

void SharedMemory::stores(UOp param, i64 at, i64 item_of_grid) {
  std::vector<i64>& by = stored_by_[param.node()];
  if (by.empty()) by.resize(static_cast<usize>(param.arg(1)), kNobody);
  i64& writer = by[static_cast<usize>(at)];
  CHECK(writer == kNobody || writer == item_of_grid, "two work items store element {} of slot {}",
        at, param.arg(0));
  writer = item_of_grid;
}

}  // namespace doorbell::codegen
