// A compute queue of either kind, whose parts are beside it: Pm4Interpreter reads its packets, the
// Pipeline has what they started, the Arbiter says which of the two goes first, DispatchJudge and
// LookAhead watch for broken rules. See pm4_queue.h and aql_queue.h for how
// the ring is read.
#pragma once

#include <span>
#include <vector>

#include "emulator/amd/cp/arbiter.h"
#include "emulator/amd/cp/dispatch_judge.h"
#include "emulator/amd/cp/dispatcher.h"
#include "emulator/amd/cp/look_ahead.h"
#include "emulator/amd/cp/pipeline.h"
#include "emulator/amd/cp/pm4_interpreter.h"
#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

class ComputeQueue : public Queue, protected Pm4Ring {
 public:
  ComputeQueue(QueueId id, const QueueDescription& description, GpuContext& gpu);

  void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const override {
    pipeline_.save_waves(options, xccs);
  }

  void look_ahead() override;
  void judge_end() const override;
  void judge_unmap(u64 start, u64 end) const override;

 protected:
  Step advance() final;
  void disconnect() override;
  void stand_still() override {
    ahead_.discard();
    disconnect();
  }
  // Looks at the packet of the ring at ahead_.at() and steps over it. False: the look ends here.
  virtual bool look_at_ring() = 0;
  // The processor has begun the packet at read_.
  virtual bool is_within_packet() const { return interpreter_.is_within_packet(); }

  Pipeline pipeline_;
  Dispatcher dispatcher_;
  DispatchJudge judge_;
  LookAhead ahead_;
  Pm4Interpreter interpreter_;

 private:
  // What is in flight and the processor, in the arbiter's order.
  Step advance_turn();
  Step advance_processor();
  Step advance_pipeline();
  Step judge_endless();
  Step judge_changed();

  Arbiter arbiter_;
  bool polls_ = false;  // what is in flight did nothing else, when it last ran
};

}  // namespace doorbell::emu::amdgpu
