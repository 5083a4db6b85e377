// ReplayLayout: recorded realisations as one list of kernels and copies with everything placed:
// every argument is memory that each run brings (a slot, or fresh memory for a result), or memory
// that stays: a part of an arena, or a constant. Who launches the list is replay_executor.h's.
//
// Thread safety: a layout does not change once it is made.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/engine/recorder.h"

namespace doorbell::engine {

struct ReplayLayout {
  static constexpr u32 kNoSource = ~u32{0};

  struct Argument {
    core::Device* device;    // whose memory it is
    core::Buffer* buffer;    // arena or constant, else null
    u32 source = kNoSource;  // the number of a slot, or slots + the number of fresh memory
    i64 offset = 0, bytes = 0;
  };
  struct Item {
    const PlanItem* planned;
    u32 first_argument, first_variable;
  };
  struct Result {
    i32 slot = -1, fresh = -1;  // one of them, or `constant`
    core::UOpRef constant;
    core::DType dtype;
    std::vector<i64> args;
  };

  std::span<const Argument> arguments_of(const Item& item) const {
    return {arguments.data() + item.first_argument, item.planned->buffer_count};
  }
  std::span<const u32> variables_of(const Item& item) const {
    return {variables.data() + item.first_variable, item.planned->variable_count};
  }
  usize sources() const { return reads.size() + fresh.size(); }

  std::vector<Item> items;  // in an order that is right on one queue
  std::vector<Argument> arguments;
  std::vector<u32> variables;     // places in what each run is given
  std::vector<PlanMemory> fresh;  // allocated for each run
  std::vector<Result> results;
  std::vector<bool> reads;  // by slot
  // One arena a device: what lives at different times shares it.
  std::vector<core::Ref<core::Buffer>> arenas, constants;
  std::vector<std::shared_ptr<const Plan>> plans;  // keep the programs
  usize variable_count = 0;
  i64 kernels = 0, copies = 0;
  f64 flops = 0, bytes = 0;
};

// As Replay's constructor, which says what the parts are. Throws Error.
ReplayLayout lay_out(std::span<const RecordedRun> runs, std::span<const core::UOpRef> slots,
                     std::span<const i64> variables, std::span<const core::UOpRef> results);

}  // namespace doorbell::engine
