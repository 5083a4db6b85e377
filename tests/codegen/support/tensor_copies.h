// Copies of boxes of tensors, for run_linear.h.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/util/check.h"
#include "tests/codegen/support/shared_memory.h"

namespace doorbell::codegen {

// Copies of boxes that were started, by mbarrier: their elements arrive when an item waits for
// their phase.
class TensorCopies {
 public:
  struct Element {
    core::UOp memory;
    i64 at, item;
    core::ScalarValue value;
  };
  // The first of a phase says the bytes of all.
  void start(i64 mbarrier, i64 phase_bytes, i64 bytes, std::vector<Element> elements) {
    Object& object = objects_[mbarrier];
    if (phase_bytes > 0) object.phases.push_back({phase_bytes, {}});
    CHECK(!object.phases.empty() && object.phases.back().bytes >= bytes,
          "a copy of {} bytes that mbarrier {} does not expect", bytes, mbarrier);
    Phase& phase = object.phases.back();
    phase.bytes -= bytes;
    phase.elements.insert(phase.elements.end(), elements.begin(), elements.end());
  }
  // A phase that is over already lets everybody pass.
  void wait(i64 mbarrier, i64 parity, SharedMemory& shared) {
    Object& object = objects_[mbarrier];
    if (object.over % 2 != parity) return;
    CHECK(!object.phases.empty(), "a wait for parity {} of mbarrier {}, phase {}, without copies",
          parity, mbarrier, object.over);
    CHECK_EQ(object.phases.front().bytes, 0);
    for (const Element& e : object.phases.front().elements)
      shared.at(e.memory, e.at, e.item, true) = e.value;
    object.phases.pop_front();
    ++object.over;
  }
  void next_group() {
    for (const auto& [number, object] : objects_)
      CHECK(object.phases.empty(), "copies without a wait");
    objects_.clear();
  }

 private:
  struct Phase {
    i64 bytes;  // that are still expected
    std::vector<Element> elements;
  };
  struct Object {
    i64 over = 0;  // phases
    std::deque<Phase> phases;
  };
  std::map<i64, Object> objects_;
};

}  // namespace doorbell::codegen
