// ExecutionPlan: kernels and copies, with the memory of every argument named: what the caller
// brings to a run (inputs), what is allocated for it (fresh), or what stays (fixed). A schedule
// becomes one (plan.h), and so do the recorded realisations of a jitted function (replay_plan.h).
// See plan_runner.h for running.
//
// Thread safety: a plan does not change once it is made.
#pragma once

#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "tensor/engine/kernel_cache.h"

namespace doorbell::engine {

struct PlanMemory {
  core::Device* device;
  i64 bytes;
};

struct ExecutionPlan {
  struct Argument {
    core::Device* device;       // whose memory it is
    u32 source;                 // inputs, then fresh, then fixed
    i64 offset = 0, bytes = 0;  // bytes: the most that a symbolic shape may have
  };
  struct Item {
    KernelRef kernel;      // null: a copy, whose arguments are {to, from}
    core::Device* device;  // where it runs
    u32 first_argument, argument_count;
    u32 first_variable, variable_count;
    i64 copy_bytes = 0;
  };

  std::span<const Argument> arguments_of(const Item& item) const {
    return {arguments.data() + item.first_argument, item.argument_count};
  }
  // Those that it writes: the first.
  std::span<const Argument> outputs_of(const Item& item) const {
    return arguments_of(item).first(item.kernel ? item.kernel->output_count : 1);
  }
  // Places in the values that a run is given.
  std::span<const u32> variables_of(const Item& item) const {
    return {variables.data() + item.first_variable, item.variable_count};
  }
  // What a run brings: inputs and fresh memory.
  usize run_sources() const { return input_count + fresh.size(); }
  bool is_input(u32 source) const { return source < input_count; }
  bool is_fixed(u32 source) const { return source >= run_sources(); }
  core::Buffer& fixed_at(u32 source) const { return *fixed[source - run_sources()]; }

  std::vector<Item> items;  // in an order that is right on one queue
  std::vector<Argument> arguments;
  std::vector<u32> variables;
  usize input_count = 0;
  usize variable_count = 0;       // values that a run is given
  std::vector<PlanMemory> fresh;  // written by the run; inputs are not
  std::vector<core::Ref<core::Buffer>> fixed;
  i64 kernels = 0, copies = 0;
  f64 flops = 0, bytes = 0;
};

}  // namespace doorbell::engine
