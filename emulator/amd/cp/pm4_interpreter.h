// Pm4Interpreter: the command processor as it reads PM4. step() is its loop: fetch a packet, decode
// its record, execute it. The ring it reads is a Pm4Ring; grids are started by the Dispatcher; what
// packets may be and name is judged where they are executed.
//
// A partition of several XCCs has one interpreter. Each XCC has its own registers and caches and
// executes every packet that PRED_EXEC does not take from it, in step with the others.
// [linux kfd_mqd_manager_v9.c: one MQD per XCC, one ring]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/amd/hw/compute_registers.h"
#include "drivers/amd/hw/pm4/packets.h"
#include "emulator/amd/cp/dispatch_judge.h"
#include "emulator/amd/cp/dispatcher.h"
#include "emulator/amd/cp/ib_stack.h"
#include "emulator/amd/cp/look_ahead.h"
#include "emulator/amd/cp/pipeline.h"
#include "emulator/amd/cp/queue_part.h"

namespace doorbell::emu::amdgpu {

// Where an interpreter's packets come from.
class Pm4Ring {
 public:
  virtual ~Pm4Ring() = default;
  // The next packet into `packet`, whole. Else why there is none now.
  virtual std::optional<Step> fetch(std::vector<u32>& packet) = 0;
  // The packet that was fetched last, and all that it called, have been executed.
  virtual void packet_done() = 0;
  // A test has changed the packet that was fetched last: it has `words` words now, those that
  // `packet` lacks from the ring. May stop the queue.
  virtual void resize(std::vector<u32>& packet, u32 words) = 0;
  // The XCCs that execute the ring.
  virtual u32 xccs() const = 0;
};

// Of what begins like none: only packets of type 3, and fillers of type 2, are there.
std::string no_packet(u32 header);

class Pm4Interpreter : private QueuePart {
 public:
  struct Parts {
    Pipeline& pipeline;
    Dispatcher& dispatcher;
    DispatchJudge& judge;
    LookAhead& ahead;
  };
  Pm4Interpreter(Queue& queue, Pm4Ring& ring, GpuContext& gpu, Parts parts);

  // One packet of the innermost indirect buffer, or of the ring.
  Step step();
  // Executes a packet that does not come from the ring: the jump of a vendor's AQL packet.
  Outcome inject(std::span<const u32> packet);

  bool in_indirect_buffer() const { return !buffers_.empty(); }
  bool is_within_packet() const { return waits_ || in_indirect_buffer(); }
  const ShRegisters& registers(u32 xcc) const { return sh_[xcc]; }

 private:
  // The next packet into words_. Else what the step comes to without one.
  std::optional<Step> fetch();
  std::optional<Step> fetch_from(IbStack::Buffer& buffer);
  void done_with_ring();
  // The test's hook sees words_, and may change them.
  HookVerdict show_hook();
  // As many words as the hook's header says of a packet that had `size`. May stop the queue.
  void follow_header(u32 size);
  Outcome execute();
  // The record of words_; nothing when the queue has stopped over it.
  template <class Packet>
  std::optional<Packet> decode_packet();
  // "ACQUIRE_MEM", for reports.
  std::string describe() const;
  Outcome not_executed();

  // A handler for each record of packets.def: flow in pm4_interpreter.cc, the others in
  // pm4_memory.cc, pm4_sync.cc and pm4_dispatch.cc.
#define DOORBELL_PM4(Record) Outcome execute(const amd::hw::Record& packet);
#include "drivers/amd/hw/pm4/packets.def"

  // flow
  bool check_jump(const amd::hw::IndirectBuffer& packet);
  // dispatches
  Outcome dispatch(std::array<u32, 3> size, u32 initiator);
  bool check_unread(const ShRegisters& registers, const amd::hw::DispatchInitiator& initiator);
  Outcome dispatch_xcc(u32 xcc, u32 xccs, std::array<u32, 3> size,
                       const amd::hw::DispatchInitiator& initiator);
  // memory
  // A packet's bytes to memory: before anything else happens if they are confirmed.
  std::optional<MemoryFault> write_memory(u64 va, std::span<const u8> bytes, bool confirmed);
  std::optional<MemoryFault> copy_bytes(const amd::hw::DmaData& packet);
  // False: the queue has stopped.
  bool check_mask(amd::hw::Compare function, u64 mask);
  bool check_interval(bool known, u32 interval);
  bool check_graphics(const char* part, bool named);
  bool check_unusual(const char* field, bool is_set);
  bool check_register(u32 address, u32 value);
  std::optional<u32> read_register(u32 xcc, u32 address);
  bool write_register(u32 xcc, u32 address, u32 value);
  // sync
  struct Release;
  void act_on_caches(const CacheActions& l2, const CacheActions& upper);
  Outcome release(const Release& release);
  std::optional<MemoryFault> end_of_pipe(const Release& release, u32 xcc);
  bool check_release(const Release& release);
  bool check_range(u64 base, u64 size);

  Pm4Ring& ring_;  // borrowed from the queue, as all parts
  Pipeline& pipeline_;
  Dispatcher& dispatcher_;
  DispatchJudge& judge_;
  LookAhead& ahead_;

  std::vector<u32> words_;  // the packet at hand
  usize depth_ = 0;         // of the indirect buffer that it comes from; 0: the ring
  u32 mask_ = 1;            // the XCCs that execute it
  bool waits_ = false;      // it is executed again
  bool repeats_ = false;    // the ring's packet at hand is read again, as the hook wants
  std::optional<std::vector<u32>> late_;  // comes behind the packet at hand, as the hook wants
  IbStack buffers_;
  std::vector<ShRegisters> sh_;
};

}  // namespace doorbell::emu::amdgpu
