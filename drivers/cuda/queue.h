// CudaQueue: a stream of CUDA as a hardware queue. What is submitted becomes calls on the stream at
// once, by the submitter: launches, copies, writes and waits of 64-bit values in pinned memory,
// which are the signals. Launches that follow each other in resident commands become a CUDA graph
// (launch_graph.h) when they run for the second time.
//
// Thread safety: as Queue.
#pragma once

#include <memory>
#include <vector>

#include "drivers/cuda/command.h"
#include "drivers/cuda/launch_graph.h"
#include "drivers/cuda/timestamps.h"
#include "hcq/queue/queue.h"

namespace doorbell::cuda {

class CudaDevice;

class CudaQueue final : public hcq::Queue {
 public:
  static Result<std::unique_ptr<CudaQueue>> make(Parts parts, const CudaDevice& device);
  // What the stream still has to run, runs: close() first.
  ~CudaQueue() override;
  // Blocks until the stream is done, unless its context is lost.
  void close();

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;
  u64 to_ns(u64 ticks) const override { return timestamps_.to_ns(ticks); }
  Result<void> write(std::span<const hcq::Segment> segments, hcq::Position end) override;

  CUstream stream() const { return stream_; }
  // The context was lost.
  void die(const Error& why);

 protected:
  Result<void> failure() override { return context_->failure(); }

 private:
  struct Replay;

  CudaQueue(Parts parts, hcq::Timeline timeline, const CudaDevice& device);
  Result<void> run(const u32* at, const u32* end);
  Result<void> run(Command command);
  Result<void> launch(Command command);
  Result<void> wait_for(u64 address, u64 value, u64 mask);
  Result<void> stamp(u64 address);
  Result<void> run_resident(hcq::ResidentWords& resident);

  const CudaDevice& device_;
  // shared_ptr: see context.h.
  const std::shared_ptr<Context> context_;
  CUstream stream_ = nullptr;
  Timestamps timestamps_;
};

}  // namespace doorbell::cuda
