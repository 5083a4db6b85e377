// AmdQueue: what AMD's queues share: words are placed in the ring (packet_ring.h), the doorbell is
// rung, each submission ends with an interrupt, and a fault kills the queue. Which words make up a
// submission is for pm4_queue.h, aql_queue.h and sdma_queue.h.
//
// Thread safety: that of Queue; die() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/kernel/kfd_queue.h"
#include "drivers/amd/packet_ring.h"
#include "hcq/memory/argument_ring.h"
#include "hcq/queue/launch_log.h"
#include "hcq/queue/queue.h"

namespace doorbell::amd {

class AmdDevice;
struct KernelLaunch;

class AmdQueue : public hcq::Queue {
 public:
  // Does not wait: close() first, unless the queue is lost.
  ~AmdQueue() override;
  // Waits, for a moment, until an idle queue has read its last words: the interrupt of the last
  // signal, which lies behind it. Nothing is submitted any more.
  void close();

  // Runs a kernel behind everything that was submitted here, after `after`. May wait for room.
  Result<void> launch(const KernelLaunch& launch, const hcq::Fence& after);

  u64 to_ns(u64 ticks) const override;
  // Abandons all submitted work; waits report `why`.
  void die(const Error& why);
  // "AMD compute queue at position 3 of 8, kernel r_16; 2 waves: ...": how far it got, for
  // messages, when the kernel has stopped it.
  std::string busy_with();
  const KfdQueue& hardware() const { return *hardware_; }
  const PacketFormat& format() const { return format_; }
  // Takes it off the hardware, so that its waves can be looked at. From any thread.
  Result<void> halt() { return hardware_->stop(); }

 protected:
  // What a queue is made of.
  struct Resources {
    Parts parts;
    hcq::Timeline timeline;
    AmdDevice& device;
    KfdEvents::Interrupt interrupt;
    std::unique_ptr<KfdQueue> hardware;
  };
  // `descriptor` is for AQL queues.
  static Result<Resources> allocate(Parts parts, AmdDevice& device, QueueType type,
                                    const hw::AmdQueue& descriptor = {});
  explicit AmdQueue(Resources resources);
  Result<void> make_argument_ring();
  // Takes the queue off the hardware while `change` writes its descriptor. All in it is done.
  Result<void> change_descriptor(const std::function<void(hw::AmdQueue&)>& change);

  // Put the words of a submission, which ends at last(), into ring_. Both reserve its room first,
  // and may wait for that and for room among the arguments.
  virtual Result<void> place(std::span<const hcq::Segment> segments) = 0;
  virtual Result<void> place_launch(const KernelLaunch& launch, const hcq::Fence& after);
  // Reserves `words` of the ring. May wait until earlier submissions are done.
  Result<void> make_room(u64 words);
  // The data of a segment's commands in arguments_, and the address of that; 0 without data. May
  // wait for room.
  Result<hcq::GpuAddr> place_data(const hcq::Segment& segment);

  Result<void> write(std::span<const hcq::Segment> segments, hcq::Position end) final;
  bool can_drop() const override { return true; }
  void drop(hcq::Position last) override;
  std::string running() override;

  // Bytes; what packets refer to begins at a multiple.
  static constexpr u64 kDataAlignment = 256;
  // What goes into the ring of a segment where there are no jumps.
  static std::span<const u32> words_of(const hcq::Segment& segment);

  AmdDevice& device_;
  const KfdEvents::Interrupt interrupt_;

 private:
  std::unique_ptr<KfdQueue> hardware_;
  const PacketFormat& format_;

 protected:
  PacketRing ring_;
  std::unique_ptr<hcq::ArgumentRing> arguments_;

 private:
  Result<void> check_alive();
  // Ends what was placed, and logs it where asked to. The write pointer to announce.
  u64 commit(std::span<const hcq::Segment> segments);
  std::string waves(bool is_running);

  std::mutex waves_mutex_;  // one report at a time
  hcq::LaunchLog launches_;
};

}  // namespace doorbell::amd
