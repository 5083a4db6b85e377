// A compute queue whose ring holds AQL packets of 64 bytes. The doorbell names the last packet by
// its number; a packet is read when its header says what it is, and not before. Read and write
// pointer count packets, never wrap, and lie in the amd_queue_t that the client shares with the
// packet processor. [HSA Runtime 1.2, 2.8 and 2.9; ROCr amd_hsa_queue.h, amd_hsa_signal.h,
// amd_aql_queue.cpp]
#pragma once

#include "drivers/amd/hw/aql.h"
#include "emulator/amd/cp/compute_queue.h"
#include "emulator/amd/cp/scratch_ring.h"

namespace doorbell::emu::amdgpu {

class AqlQueue final : public ComputeQueue {
 public:
  using ComputeQueue::ComputeQueue;

 protected:
  u32 xccs() const override { return gpu_.xcc_mask(); }
  // Executes the packet of the ring, which is no PM4 itself; a vendor's packet injects its jump.
  std::optional<Step> fetch(std::vector<u32>& packet) override;
  void packet_done() override;
  void resize(std::vector<u32>&, u32) override {}  // PM4 is in buffers only
  bool look_at_ring() override;
  bool is_within_packet() const override { return fetched_ || ComputeQueue::is_within_packet(); }
  u64 end_of(u64 doorbell) const override { return doorbell + 1; }
  u64 capacity() const override { return description_.ring_bytes / amd::hw::kAqlPacketBytes; }
  void disconnect() override {
    ComputeQueue::disconnect();
    leave();
  }
  bool tell_client(const HwException& exception) override;
  // Several producers ring in any order. [HSA Runtime 1.2, 2.8.3]
  bool doorbells_rise() const override { return false; }

 private:
  Outcome stopped(MemoryFault fault) {
    stop(std::move(fault));
    return Outcome::Stop;
  }
  Outcome stopped(std::string why) {
    stop(std::move(why));
    return Outcome::Stop;
  }
  Step advance_ring();
  Step execute_packet();
  Outcome kernel_dispatch(const amd::hw::KernelDispatchPacket& packet);
  Outcome barrier(const amd::hw::BarrierPacket& packet);
  Outcome vendor(const amd::hw::Pm4IbPacket& packet);

  Outcome launch_parts(const amd::hw::KernelDispatchPacket& packet,
                       const Words<amd::hw::KernelDescriptor>& descriptor,
                       const amd::hw::AmdQueue& queue, u64 queue_va, Dispatch& dispatch);
  Dispatch describe_dispatch(const amd::hw::KernelDispatchPacket& packet,
                             const amd::hw::KernelDescriptor& descriptor) const;
  bool check_scratch_area(const ScratchRing& ring, const amd::hw::AmdQueue& queue);
  bool check_scratch_words(const ScratchRing& ring, const amd::hw::AmdQueue& queue);
  std::optional<amd::hw::AmdQueue> scratch_area(const amd::hw::KernelDispatchPacket& packet,
                                                u64 needed);
  Outcome find_scratch(const amd::hw::KernelDispatchPacket& packet, amd::hw::AmdQueue& queue,
                       Dispatch& dispatch);
  static u64 scratch_share(const amd::hw::AmdQueue& queue);

  // Of packet_, once: what all packets have, and the signals that they name.
  bool check_header();
  bool check_signal(u64 signal);
  bool check_mailbox(u64 mailbox);
  bool check_dispatch(const amd::hw::KernelDispatchPacket& packet,
                      const amd::hw::KernelDescriptor& descriptor);
  // The queue's own structure, and where it lies.
  struct Connected {
    u64 va = 0;
    amd::hw::AmdQueue queue;
    bool reclaims = false;  // both sides know the second area, and how scratch is given back
    amd::hw::ScratchLastUsed last_used;
  };
  // As it is now.
  std::optional<MemoryFault> read_queue(Connected& queue);
  // Copies it, once for each time that the queue is put on the hardware. False: the queue has
  // stopped over it. [ROCr amd_aql_queue.cpp AsyncReclaimMainScratch: "CP FW only updates its copy
  // of amd_queue_ (scratch_copy) on queue_connect"]
  bool connect();
  std::optional<MemoryFault> exchange_capabilities(Connected& queue);
  void leave();
  bool check_unchanged();
  bool check_queue(const amd::hw::AmdQueue& queue);
  bool check_waves(const amd::hw::AmdQueue& queue);
  // Tells the client why the queue does not go on, and for scratch waits until it may again.
  bool report_inactive(const amd::hw::AmdQueue& queue, amd::hw::QueueError error);
  void acquire(amd::hw::FenceScope scope);
  // Release fence and completion signal.
  std::optional<MemoryFault> complete(amd::hw::FenceScope release, u64 signal, u64 start);
  std::optional<MemoryFault> publish_read_index();
  std::optional<MemoryFault> read_signal(u64 va, amd::hw::AmdSignal& signal);
  // A barrier packet is behind what this signal announces, if it is 0.
  void note_dependency(u64 signal);

  template <class Packet>
  std::optional<Packet> take_aql();

  u64 slot() const { return slot(read_); }
  u64 slot(u64 packet) const {
    return description_.ring + packet * amd::hw::kAqlPacketBytes % description_.ring_bytes;
  }
  // False: it waits for a signal.
  bool look_at_packet(std::span<const u32> words);

  std::vector<u32> packet_;  // the AQL packet at hand
  bool begun_ = false;       // its fences and barrier are behind it
  bool fetched_ = false;     // packet_ holds it
  bool repeats_ = false;     // it is read again, as a test's hook wants
  bool late_ = false;        // its doorbell came before it
  bool short_of_scratch_ = false;
  bool reporting_ = false;  // something was told, or could not be: the client is asked no more
  std::optional<Connected> connected_;
  // What is wrong if the queue stops over the packet at hand.
  amd::hw::QueueError error_ = amd::hw::QueueError::PacketFormat;
  // Of a vendor packet whose indirect buffer is running.
  amd::hw::FenceScope release_ = amd::hw::FenceScope::None;
  u64 completion_ = 0;
};

}  // namespace doorbell::emu::amdgpu
