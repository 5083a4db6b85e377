// BareGpu: an emulated GPU that no kernel driver has started: its registers, doorbells and memory
// as a client sees them behind PCI, its security processor, power controller, memory hubs,
// interrupt handler, and the queues that the client's register writes put on it. Those run as over
// KFD, on the GPU of emulator/amd/cp.
//
// Registers outside of the client's reach, clocks, displays and other VMIDs are not there. See
// bare_checks.def for what is asked of the client, bare_files.h for the way here.
//
// Thread safety: from any thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/amd/hw/bare/interrupts.h"
#include "drivers/amd/hw/bare/mqd.h"
#include "emulator/amd/bare/bare_memory.h"
#include "emulator/amd/bare/card_state.h"
#include "emulator/amd/bare/security_processor.h"
#include "emulator/amd/cp/queue_description.h"

namespace doorbell::emu::amdgpu {

class BareGpu final : public Interrupts {
 public:
  // How much of the memory its region on the bus shows at first, and at most, as the bridge above
  // has room: powers of two; 0: all. Adversarial: a compute queue that an error stopped stays on
  // the hardware until its processor is reset.
  struct Settings {
    u64 shown = 0, most_shown = 0;
    bool is_adversarial = false;
  };
  // Borrows all; `now_ticks` is the counter that timestamps are made of. `card`: what the card
  // keeps, in a file that other processes had before; null: a new one.
  BareGpu(Device& device, Checks& checks, BusMemory& bus, std::function<u64()> now_ticks,
          const Settings& settings, CardState* card = nullptr);

  // ---- the bus ----------------------------------------------------------------------------------
  static constexpr u64 kRegisterBytes = u64{1} << 20, kDoorbellBytes = u64{2} << 20;
  // Of the memory's region, which moves when its size changes; of the registers' and doorbells'.
  u64 shown_bytes() const;  // a power of two
  u64 shown_address() const;
  u64 register_address() const;
  u64 doorbell_address() const;
  // Sizes of the region as the PCI Express capability has them, bit n for 2^n MiB; and another one.
  // False: the device does not have it, or the bridge no room.
  u64 shown_sizes() const;
  bool resize(u64 log2_mib);
  // A region is mapped (1), or not any more (-1).
  void note_mapped(int change);
  u32 read_register(u64 offset);
  void write_register(u64 offset, u32 value);
  void ring(u64 offset, unsigned bytes, u64 value);
  u16 command_word() const;
  void set_command_word(u16 value);
  Device& device() { return device_; }
  // It stands behind a bridge from USB, and reaches that alone.
  void reach(BusMemory& bus) { memory_.reach(bus); }
  u32 index() const { return device_.slot.index; }
  void host_unpinned(const u8* host, u64 bytes);
  // One client at a time, of all processes that have the card.
  bool take();
  void give_back();

  // ---- interrupts -------------------------------------------------------------------------------
  void signal(u32 context_id, unsigned valid_bits) override;
  void memory_fault(const MemoryFault& fault) override;
  void hw_exception(const HwException& exception) override;
  // What stopped it last; empty: nothing did.
  std::string last_fault() const;
  // The process ends.
  void tell_leaks();

 private:
  using Reg = amd::hw::Reg;
  static constexpr u32 kQueues = CardState::kQueues;
  struct ComputeSlot {
    std::array<u32, amd::hw::kHqdRegisters>& registers;
    u32 xcc = 0, number = 0;
    std::optional<QueueId> id;  // of an AQL queue, which is on all XCCs: on the first
    u32 doorbell = 0;           // in words
    bool is_stuck = false;
  };

  bool is_gc12() const { return chip_ == amd::hw::BareChip::Gc12; }
  bool is_gc94() const { return chip_ == amd::hw::BareChip::Gc94; }
  u32 xccs() const { return device_.slot.node->xccs; }
  // Of this instance of the register's block.
  u32& value(Reg reg, u32 instance = 0) { return card_.values[instance][static_cast<usize>(reg)]; }
  u64 pair(Reg low, Reg high, u32 instance = 0) {
    return value(low, instance) | u64{value(high, instance)} << 32;
  }
  void show_on_bus();
  std::span<u8> behind_window(const char* what);
  u32 read_word(u64 word);
  void write_word(u64 word, u32 value);
  void write_known(Reg reg, u32 instance, u32 value);
  void write_on_aid(u32 value);
  void judge_bits(std::string_view name, u32 written, u32 defined);
  void reset();
  void clear(ComputeSlot& slot);

  // Queues: bare_queues.cc.
  std::optional<std::pair<u32, u32>> queue_register(u64 word) const;  // the XCC, the register
  ComputeSlot* selected(u32 xcc, const char* what);
  ComputeSlot& slot_of(u32 xcc, u32 number) { return slots_[xcc * kQueues + number]; }
  void write_queue_register(u32 xcc, u32 index, u32 value);
  void activate(ComputeSlot& slot);
  std::string judge_together(u32 number);
  bool judge_processor(u32 xcc);
  std::string judge_aql(const ComputeSlot& slot);
  std::string judge_description(const ComputeSlot& slot, const QueueDescription& queue);
  void dequeue(ComputeSlot& slot);
  void note_stopped(QueueId queue);
  void write_copy_control(u32 value);
  void stop_copy_queue();
  void soft_reset(u32 xcc, u32 value);
  void write_processor_control(u32 xcc, u32 value);
  void write_front_control(u32 value);
  u32 copy_halt() const;

  // Memory and interrupts: bare_blocks.cc.
  void set_up_context();
  std::string judge_hub(bool is_graphics, u32 instance);
  std::string judge_second_tlb(bool is_graphics, u32 instance);
  bool is_whole_invalidation(u32 value, u32* vmids) const;
  void invalidate(bool is_graphics, u32 instance, u32 value);
  std::string judge_doorbell(u32 word, bool is_copy);
  void send_message(bool is_debug);
  void take_message(amd::hw::SmuMessage message, u32& argument, u32& answer);
  void judge_interrupt_ring(u32 value);
  void raise(const amd::hw::InterruptEntry& entry);

  Device& device_;
  Checks& checks_;
  BusMemory& bus_;
  const std::function<u64()> now_ticks_;
  const Settings settings_;
  const amd::hw::BareChip chip_;
  const amd::hw::InterruptSources interrupt_sources_;
  const std::unique_ptr<CardState> own_card_;  // null: it lies elsewhere
  mutable std::mutex mutex_;                   // guards what follows
  CardState& card_;
  BareMemory memory_;
  SecurityProcessor psp_;
  struct Named {
    Reg reg;
    u32 instance;
  };
  std::unordered_map<u64, Named> names_;  // by address, in words
  std::vector<u64> queue_registers_;      // addresses of CP_MQD_BASE_ADDR, by XCC
  std::vector<ComputeSlot> slots_;
  std::optional<QueueId> copy_queue_;
  bool is_taken_ = false;
  int mapped_regions_ = 0;
  std::string last_fault_;
};

}  // namespace doorbell::emu::amdgpu
