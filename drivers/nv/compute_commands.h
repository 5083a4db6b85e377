// ComputeCommands: launches. A launch's data are constant bank 0 and a QMD, the descriptor of its
// grid. The first launch is sent; those directly behind it are chained: each QMD names the next
// one, which the GPU starts when the grid is done, without the host engine. Grids that are sent one
// after the other run at the same time, unless a method between them waits for idle.
//
// Caches: a grid begins with its SMs' caches of data invalid, and ends with its writes visible to
// all (the QMD says so). What did not come from a grid before it in the chain (code, arguments,
// copies) needs an invalidation before the grid is sent.
#pragma once

#include "drivers/nv/commands.h"
#include "drivers/nv/hw/compute/methods.h"

namespace doorbell::nv {

class NvDevice;
class NvProgram;
struct KernelLaunch;

class ComputeCommands final : public NvCommands {
 public:
  // Words with which the first grid of a run is sent, with their headers.
  static constexpr u32 kSendWords = 1 + hw::SendPcasA::kWords + 1 + hw::SendSignalingPcas2B::kWords;

  explicit ComputeCommands(const NvDevice& device);

  // By the host engine, once the grids are done.
  void signal(hcq::Operand address, hcq::Operand value) override;
  void memory_barrier() override;
  void exec(const hcq::Launch& launch) override;
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;

  // ---- for the queue and the device -------------------------------------------------------------
  void set_up() override;
  // A launch that runs once.
  void launch(const KernelLaunch& launch);
  // Grids that are sent later have their local memory there.
  void set_local_memory(u64 address, u64 bytes_per_tpc);

 protected:
  void ended_run() override { last_qmd_ = kNone, invalidated_ = false; }
  void became_idle() override { has_grids_ = has_copies_ = has_barrier_ = false; }

 private:
  static constexpr u32 kNone = ~u32{0};
  // Forgets what the words before the last clear() were.
  void begin();
  void wait_for_idle();
  void invalidate();
  // The data of a launch: word of bank 0.
  u32 add_bank(const NvProgram& program);
  u32 add_aligned(std::span<const u32> words);
  void send(const NvProgram& program, u32 bank);

  const NvDevice& device_;    // whose programs may run here
  u32 last_qmd_ = kNone;      // data word of the QMD that the next one is chained to
  bool invalidated_ = false;  // the last words are an invalidation
  // What the words so far leave in flight, and whether the next command is to come behind it.
  bool has_grids_ = false, has_copies_ = false, has_barrier_ = false;
};

}  // namespace doorbell::nv
