// NvQueue: one channel as a queue: words that run once go to a ring of memory, resident ones are
// referred to, and each submission is a few entries of the channel's GPFIFO. An error that RM
// reports of the channel kills the queue.
//
// Thread safety: that of Queue; die() and look() from any thread.
#pragma once

#include <memory>
#include <string>

#include "drivers/nv/commands.h"
#include "drivers/nv/gp_ring.h"
#include "drivers/nv/kernel/nvk_channel.h"
#include "hcq/memory/argument_ring.h"
#include "hcq/queue/launch_log.h"
#include "hcq/queue/queue.h"

namespace doorbell::nv {

class ComputeCommands;
class NvDevice;
struct KernelLaunch;

class NvQueue final : public hcq::Queue {
 public:
  enum class Kind : u8 { Compute, Copy };

  static Result<std::unique_ptr<NvQueue>> make(Parts parts, NvDevice& device, ChannelGroup& group,
                                               Kind kind);
  // Does not wait: the device waits first, unless the queue is lost.
  ~NvQueue() override;

  // Binds the channel's classes; once, when its group is scheduled.
  Result<void> set_up();
  // Runs a kernel behind everything that was submitted here, after `after`. May wait for room. On a
  // compute queue, as set_local_memory().
  Result<void> launch(const KernelLaunch& launch, const hcq::Fence& after);
  // Later launches have their local memory there.
  Result<void> set_local_memory(u64 address, u64 bytes_per_tpc);

  std::unique_ptr<hcq::CommandBuffer> make_commands() override;
  u64 to_ns(u64 ticks) const override { return ticks; }  // PTIMER counts nanoseconds
  u32 timestamp_bytes() const override { return 16; }
  // Abandons all submitted work; waits report `why`.
  void die(const Error& why);
  // Dies if RM ended the channel.
  void look();
  const NvkChannel& channel() const { return *channel_; }

 protected:
  Result<void> write(std::span<const hcq::Segment> segments, hcq::Position end) override;
  Result<void> failure() override;
  std::string running() override;

 private:
  NvQueue(Parts parts, hcq::Timeline timeline, NvDevice& device, Kind kind,
          std::unique_ptr<NvkChannel> channel);
  std::unique_ptr<NvCommands> make_nv_commands();
  // Records how long what launches repeat is.
  void measure();
  // Reserves entries of the ring. May wait until earlier submissions are done.
  Result<void> make_room(u64 entries);
  // The words of a launch, which ends at last(), written where the GPU reads them.
  Result<void> place_launch(const KernelLaunch& launch, const hcq::Fence& after);
  // Ends what was placed, logs it where asked to, and tells the GPU.
  void commit(hcq::Position end);
  Result<void> place(std::span<const hcq::Segment> segments);
  // Words that run once, together.
  Result<void> place_words(std::span<const hcq::Segment> segments);
  void push(u64 address, u64 words);
  void log_submission();
  // "kernel r_16 of position 3": the first launch that is not done, as far as it is remembered.
  std::string first_kernel() const;
  Error error_of(const hw::Notification& notification) const;

  NvDevice& device_;
  const Kind kind_;
  std::unique_ptr<NvkChannel> channel_;
  GpRing ring_;
  std::unique_ptr<hcq::ArgumentRing> arguments_;
  std::unique_ptr<ComputeCommands> launch_;  // of a compute queue; under the lock of the queue
  u32 launch_words_ = 0, wait_words_ = 0;    // a launch without waits, a wait

  hcq::LaunchLog launches_;
};

}  // namespace doorbell::nv
