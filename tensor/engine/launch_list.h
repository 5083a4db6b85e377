// LaunchList: items of a plan launch by launch, for devices without hardware queues and copies from
// and to them.
//
// Thread safety: one run() at a time each.
#pragma once

#include <vector>

#include "hcq/device.h"
#include "tensor/engine/plan_part.h"

namespace doorbell::engine {

class LaunchList {
 public:
  explicit LaunchList(PlanPart part);
  // Starts the items, after everything that their devices were given before. `memory` by source, of
  // inputs and fresh memory; an input that no item reads may be null. Work may still run when this
  // returns: the devices keep what it uses. Throws Error.
  void run(std::span<core::Buffer* const> memory, std::span<const i64> variables);

 private:
  core::BufferView view_of(const ExecutionPlan::Argument& argument,
                           std::span<core::Buffer* const> memory) const;
  void launch(const ExecutionPlan::Item& item, std::span<core::Buffer* const> memory,
              std::span<const i64> variables) const;

  const PlanPart part_;
  std::vector<hcq::Device*> queued_;  // whose queues may still work on what the items use
};

}  // namespace doorbell::engine
