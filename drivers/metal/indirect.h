// IndirectLaunches: launches of a replay as commands of an indirect command buffer, which one
// message runs. Commands whose arguments changed are encoded anew, while no run of them is on its
// way; a batch whose arguments change while one is, is launched directly instead.
//
// Thread safety: one thread at a time.
#pragma once

#include <vector>

#include "drivers/metal/program.h"
#include "hcq/software/launch_batch.h"

namespace doorbell::metal {

class IndirectLaunches final : public hcq::LaunchBatch {
 public:
  static Result<std::unique_ptr<LaunchBatch>> make(Context& context, usize launches);
  Result<bool> launch(std::span<const Launch> launches) override;

 private:
  // What a command has.
  struct Applied {
    const core::Program* program = nullptr;
    std::vector<u64> arguments;  // number of the memory and offset of each buffer; the variables
    bool operator==(const Applied&) const = default;
  };
  IndirectLaunches(Context& context, Owned commands, Owned variables, usize launches);
  static void read(const Launch& launch, Applied* made);
  void encode(usize number, const Launch& launch);
  void list_resources(std::span<const Launch> launches);

  Context& context_;
  const Owned commands_, variables_;  // a part of the buffer for each launch's
  u8* const variable_bytes_;
  std::vector<Applied> applied_, wanted_;
  std::vector<Id> resources_;      // that the commands use, each once
  std::vector<Memory*> memories_;  // the same, without the variables
  u64 last_ = 0;                   // number of the last run
};

}  // namespace doorbell::metal
