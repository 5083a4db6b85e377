// AmdQueue: what AMD's queues share: words go into the ring behind each other, room is taken back
// as the timeline advances, the pointer and the doorbell follow, each submission ends with an
// interrupt, and a fault is the queue's death. Which words make up a submission is
// pm4_queue.h's, aql_queue.h's and sdma_queue.h's.
//
// Thread safety: that of Queue; die() from any thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/kernel/kfd_queue.h"
#include "hcq/memory/argument_ring.h"
#include "hcq/queue/queue.h"

namespace doorbell::amd {

class AmdDevice;

class AmdQueue : public hcq::Queue {
 public:
  // Also of one that was never closed, which it does not wait for.
  ~AmdQueue() override;
  // Waits, for a moment, until an idle queue has read its last words: the interrupt of the last
  // signal, which lies behind it. Nothing is submitted any more.
  void close();

  u64 to_ns(u64 ticks) const override;
  // Nothing that was submitted will be done any more; waits report `why`.
  void die(const Error& why);
  // The kernel of a launch that ended at `position`; the name lives as long as the device.
  void note_launch(hcq::Position position, const std::string& name);
  // "AMD compute queue at position 3 of 8, kernel r_16; 2 waves: ...": where it stands, for
  // messages, when the kernel has stopped it.
  std::string busy_with();
  const KfdQueue& hardware() const { return *hardware_; }
  // Takes it off the hardware, so that its waves can be looked at. From any thread.
  Result<void> halt() { return hardware_->stop(); }

 protected:
  AmdQueue(Parts parts, hcq::Timeline timeline, AmdDevice& device,
           std::unique_ptr<KfdQueue> hardware, KfdEvents::Interrupt interrupt);
  // Takes the queue off the hardware while `change` writes its descriptor.
  Result<void> change_descriptor(const std::function<void(hw::AmdQueue&)>& change);
  // Interrupt and ring, which all queues want.
  Result<void> make_rings(i64 argument_bytes);

  Result<void> write(std::span<const hcq::Segment> segments, hcq::Position end) final;
  // Adds the segments' words, as they go into the ring, to words_. Uses arguments_.
  virtual Result<void> assemble(std::span<const hcq::Segment> segments) = 0;
  Result<void> failure() override;
  bool can_drop() const override { return true; }
  void drop(hcq::Position last) override;
  std::string running() override;

  // The data of commands in arguments_, and the address of that; 0 without data.
  Result<hcq::GpuAddr> place_data(const hcq::CommandBuffer& commands);
  void append(std::span<const u32> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }
  // The words of a segment, relocated, at the end of words_.
  Result<void> append_piece(const hcq::Segment& segment);

  AmdDevice& device_;
  std::vector<u32> words_;  // of the submission that is being placed
  const KfdEvents::Interrupt interrupt_;

  std::unique_ptr<hcq::ArgumentRing> arguments_;

 private:
  struct Chunk {
    hcq::Position position;
    u64 end;  // words since the beginning that are read when the position is done
  };
  Result<void> make_room(u64 count);
  void write_ring(std::span<const u32> words);
  void write_packets(std::span<const u32> words);
  void publish();
  std::string waves(bool is_running);

  std::unique_ptr<KfdQueue> hardware_;
  const QueueType type_;
  u64 put_ = 0, taken_back_ = 0;
  std::vector<Chunk> chunks_;  // from first_chunk_ on
  usize first_chunk_ = 0;

  std::mutex waves_mutex_;    // one report at a time
  std::mutex failure_mutex_;  // guards failure_
  std::unique_ptr<Error> failure_;
  std::atomic<bool> dead_{false};  // failure_ is set

  struct Launched {
    std::atomic<hcq::Position> position{0};
    std::atomic<const std::string*> name{nullptr};
  };
  static constexpr usize kRemembered = 64;
  // The first launch that is not done, as far as it is remembered.
  const std::string* first_kernel(hcq::Position* position) const;
  std::array<Launched, kRemembered> launches_;
};

}  // namespace doorbell::amd
