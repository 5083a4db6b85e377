// A compute queue of either kind: the PM4 packets that its command processor executes, from the
// ring or from indirect buffers, the registers they set, and the grids they launch. Which words
// come next in the ring is for pm4_queue.h and aql_queue.h.
//
// A partition of several XCCs is one queue here: every XCC has registers and caches of its own and
// executes every packet that PRED_EXEC does not take from it, in step with the others.
// [linux kfd_mqd_manager_v9.c: one MQD per XCC, one ring]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/packets.h"
#include "emulator/amd/cp/caches.h"
#include "emulator/amd/cp/pipeline.h"
#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

class ComputeQueue : public Queue {
 public:
  ComputeQueue(QueueId id, const QueueDescription& description, GpuContext& gpu);

  void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const override {
    pipeline_.save_waves(options, xccs);
  }

  void look_ahead() override;
  void judge_end() const override;
  void judge_unmap(u64 start, u64 end) const override;

 protected:
  enum class Outcome : u8 { Done, Wait, Stop };

  Step advance() final;
  void disconnect() override;
  void stand_still() override {
    discard_lookahead();
    disconnect();
  }
  // Executes what comes next: a packet of the innermost indirect buffer, or of the ring.
  Step advance_processor();
  // words_ holds a packet of the ring (depth 0) or of an indirect buffer.
  Step run_packet(unsigned depth);
  // The next packet of the ring.
  virtual Step advance_ring() = 0;
  // Looks at the packet of the ring at ahead_.at and steps over it. False: the look ends here.
  virtual bool look_at_ring() = 0;
  // The processor has begun the packet at read_.
  virtual bool is_within_packet() const { return pending_ || in_indirect_buffer(); }
  // The XCCs that the queue runs on.
  virtual u32 own_xccs() const = 0;
  // A ring's packet and all that it called have been executed.
  virtual void ring_packet_done() = 0;

  // Executes words_, a whole PM4 packet, on the XCCs of mask_.
  Outcome execute();
  bool in_indirect_buffer() const { return !frames_.empty(); }

  // "ACQUIRE_MEM ..." for traces and reports.
  std::string describe() const;

  Outcome launch(const Dispatch& dispatch, std::vector<Snapshot> snapshots);
  std::optional<amd::hw::KernelDescriptor> read_descriptor(u64 va) const;
  // Of the descriptor whose code this is, if the buffer around it has one; else 0.
  u64 find_descriptor(u64 entry);
  std::optional<Snapshot> snapshot(const char* what, u64 va, u64 bytes) const;
  // Each is false when the queue has stopped over it.
  bool check_group(const Dispatch& dispatch);
  bool check_arguments(u64 va, u32 bytes);
  bool check_scratch(const Dispatch& dispatch, const amd::hw::KernelDescriptor& descriptor);
  // What is used now is still as it was announced.
  bool check_announced(Announcements::Kind kind, u64 va);

  // ---- looking ahead (look_ahead.cc)
  bool look_at(std::span<const u32> words, unsigned depth);
  // What the ring's packet at hand uses must stay as it is.
  void promise(Announcements::Kind kind, u64 va, u64 bytes);
  // The host may change what is announced, for a kernel polls or the queue stands still: nothing of
  // it is promised.
  void discard_lookahead();
  bool peek(u64 va, std::span<u32> words) const;
  // A wait does not hold yet.
  bool held_back(u64 va, amd::hw::Compare function, u64 mask, u64 reference) const;

  void act_on_caches(u32 xcc, const CacheActions& actions);

  Outcome stopped(MemoryFault fault) {
    stop(std::move(fault));
    return Outcome::Stop;
  }
  Outcome stopped(std::string why) {
    stop(std::move(why));
    return Outcome::Stop;
  }
  bool wave32_possible() const { return gpu_.generation != amd::hw::Generation::Gfx9; }

  std::vector<u32> words_;  // the packet at hand
  u32 mask_ = 1;            // the XCCs that execute it
  std::vector<ShRegisters> sh_;
  Pipeline pipeline_;
  bool polls_ = false;  // what is in flight did nothing else, when it last ran
  struct Ahead {
    u64 at = 0;    // how far the ring was looked at, as read_ counts
    u64 gate = 0;  // and not further before the queue has read so far
    ShRegisters registers;
  };
  Ahead ahead_;

 private:
  struct Frame {
    u64 base = 0;
    std::vector<u32> words;  // as they were when the buffer was called
    u32 next = 0;
    u32 predicated_until = 0;  // PRED_EXEC reaches so far
    u32 mask = 0;              // and leaves these
  };

  Step advance_turn();
  Step advance_frame();
  Step run_pipeline();
  bool processor_first();
  Outcome pass_hook(unsigned depth);

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
  bool look_at_buffer(u64 va, u32 count, unsigned depth);
  void look_at_dispatch();

  // The record at the head of words_; nothing when the queue has stopped over it.
  template <class Packet>
  std::optional<Packet> decode_packet();
  Outcome not_executed();

  // A handler for each record of packets.def, here, in pm4_memory.cc, pm4_sync.cc and
  // pm4_dispatch.cc.
#define DOORBELL_PM4(Record) Outcome execute(const amd::hw::Record& packet);
#include "drivers/amd/hw/pm4/packets.def"

  // dispatches
  Outcome dispatch(std::array<u32, 3> size, u32 initiator);
  Outcome dispatch_xcc(u32 xcc, u32 xccs, std::array<u32, 3> size,
                       const amd::hw::DispatchInitiator& initiator);
  bool check_dispatch(const Dispatch& dispatch, u32 xcc,
                      const std::optional<amd::hw::KernelDescriptor>& descriptor);
  // memory
  // A packet's bytes to memory: before anything else happens if they are confirmed.
  std::optional<MemoryFault> write_memory(u64 va, std::span<const u8> bytes, bool confirmed);
  std::optional<MemoryFault> copy_bytes(const amd::hw::DmaData& packet);
  std::optional<u32> read_register(u32 xcc, u32 address);
  bool write_register(u32 xcc, u32 address, u32 value);
  // sync
  struct Release;
  void act_on_caches(const CacheActions& l2, const CacheActions& upper);
  Outcome release(const Release& release);
  std::optional<MemoryFault> end_of_pipe(const Release& release, u32 xcc);
  bool check_release(const Release& release);

  std::vector<Frame> frames_;
  enum class Phase : u8 { Waves, Processor, Either };
  Phase phase_ = Phase::Either;
  u32 phase_left_ = 0;
  bool pending_ = false;  // words_ waits to be executed again
  // An entry without a descriptor in the mappings of that generation.
  struct DescriptorPlace {
    bool none = false;
    u64 generation = 0;
  };
  std::unordered_map<u64, DescriptorPlace> descriptors_;
  std::vector<u64> last_entry_;  // of each XCC's last dispatch
};

}  // namespace doorbell::emu::amdgpu
