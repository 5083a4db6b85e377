// LookAhead: reads the packets that are announced and not yet executed, and notes what the client
// must leave alone until then (announcements.h). It reads memory past caches and rules and changes
// nothing; a packet that it cannot follow ends the look, never the queue. Adversarial mode only.
//
// The queue walks its ring (ComputeQueue::look_ahead); here are the packets of PM4.
#pragma once

#include <span>

#include "drivers/amd/hw/pm4/packets.h"
#include "emulator/amd/cp/dispatcher.h"
#include "emulator/amd/cp/queue_part.h"

namespace doorbell::emu::amdgpu {

class LookAhead : private QueuePart {
 public:
  LookAhead(Queue& queue, GpuContext& gpu, Dispatcher& dispatcher)
      : QueuePart(queue, gpu), dispatcher_(dispatcher) {}

  // Whether there is something to look at. `half_done`: the packet that the queue is at has begun.
  bool begin(bool half_done, u32 xccs, const ShRegisters& registers);
  // How far the ring was looked at, in the units of Queue::announced().
  u64 at() const { return at_; }
  void step(u64 units) { at_ += units; }
  // The look ends here until the queue has read so far.
  void stop_here() { gate_ = at_; }

  // One packet. False: what comes behind it is not promised yet, or not known.
  bool look_at(std::span<const u32> words, unsigned depth);
  // What the ring's packet at hand uses must stay as it is.
  void promise(Announcements::Kind kind, u64 va, u64 bytes);
  bool peek(u64 va, std::span<u32> words) const;
  // A wait does not hold yet.
  bool held_back(u64 va, amd::hw::Compare function, u64 mask, u64 reference) const;

  // Drops all promises: the host may change what is announced, because a kernel polls or the queue
  // stands still.
  void discard();
  // Whether what is used now is still as it was announced. False: the queue has stopped over it.
  bool check_announced(Announcements::Kind kind, u64 va);

 private:
  // Of packets that end the look, or announce what they use.
  bool look_at(const amd::hw::SetShReg& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::CopyData& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::WriteData& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::WaitReg& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::WaitRegMem& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::WaitRegMem64& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::IndirectBuffer& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::DispatchDirect& packet, std::span<const u32> words, unsigned depth);
  bool look_at(const amd::hw::DispatchIndirect& packet, std::span<const u32> words, unsigned depth);
  bool look_at_words(std::span<const u32> words, unsigned depth);
  void look_at_dispatch();

  Dispatcher& dispatcher_;  // borrowed from the queue
  u32 xccs_ = 1;            // of the queue
  u64 at_ = 0;
  u64 gate_ = 0;
  ShRegisters registers_;  // as the packets that were looked at leave them
};

}  // namespace doorbell::emu::amdgpu
