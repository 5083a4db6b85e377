// [torvalds/linux gfx_v11_0.c gfx_v11_0_compute_mqd_init(); kfd_mqd_manager_v11.c init_mqd(),
// update_mqd(), init_mqd_sdma(); amdgpu_amdkfd_gfx_v11.c hqd_load_v11(), hqd_destroy_v11(),
// hqd_sdma_load_v11(); of GC 9.4.3 kfd_mqd_manager_v9.c init_mqd_v9_4_3(), sdma_v4_4_2.c
// sdma_v4_4_2_gfx_resume(); tinygrad ip.py AM_GFX.setup_ring(), AM_SDMA.setup_ring()]
#include "drivers/amd/kernel/pci/hardware_queues.h"

#include <bit>

#include "base/util/try.h"
#include "drivers/amd/hw/bare/mqd.h"

namespace doorbell::amd {

using hw::Mqd;
using hw::Reg;

namespace {

constexpr u32 kBaseUnit = 8;  // bits: rings and end-of-pipe buffers lie on 256 bytes
constexpr u32 kWordsOfDoorbell = 2;

u8 log2_words(u64 bytes) { return static_cast<u8>(std::countr_zero(bytes / sizeof(u32))); }

// On a GPU of several XCCs the first writes the read pointer of an AQL queue, else the firmware.
// [kfd_mqd_manager_v9.c init_mqd_v9_4_3(), update_mqd_v9_4_3(): "Master XCC"; tinygrad
// AM_GFX.setup_ring()]
u32 ring_control(const RegisterAccess& registers, u32 xcc, const PciQueueMemory& memory) {
  const auto set = [&](auto control) {
    control.size = static_cast<u8>(log2_words(memory.ring_bytes) - 1);
    control.rptr_block_size = 5;
    if (memory.is_aql) {
      control.queue_full_en = true;
      control.no_update_rptr = xcc != 0 || registers.xccs() == 1;
      control.slot_based_wptr = hw::kSlotsOfAql;
    }
    return hw::word_of(control);
  };
  return registers.caps().has_mqd_of_xccs ? set(hw::HqdPqControlGc94{}) : set(hw::HqdPqControl{});
}

std::array<u32, hw::kMqdWords> describe(const BootTarget& target, u64 mqd, u32 xcc, u32 doorbell,
                                        const PciQueueMemory& memory) {
  std::array<u32, hw::kMqdWords> words{};
  const auto set = [&](Mqd at, u64 value) { words[hw::index_of(at)] = static_cast<u32>(value); };
  const auto set_pair = [&](Mqd low, u64 value) {
    words[hw::index_of(low)] = static_cast<u32>(value);
    words[hw::index_of(low) + 1] = static_cast<u32>(value >> 32);
  };
  set(Mqd::Header, hw::kMqdHeader);
  for (const Mqd engine : {Mqd::StaticThreadMgmtSe0, Mqd::StaticThreadMgmtSe1,
                           Mqd::StaticThreadMgmtSe2, Mqd::StaticThreadMgmtSe3})
    set(engine, ~u32{0});
  if (!target.registers.caps().has_mqd_of_xccs)
    for (u32 engine = 0; engine < 4; ++engine)
      words[hw::index_of(Mqd::StaticThreadMgmtSe4) + engine] = ~u32{0};
  if (target.registers.xccs() > 1 && memory.is_aql) {
    set(Mqd::CurrentLogicXccId, xcc);
    set(Mqd::TgChunkSize, 1);
    set(Mqd::MqdStrideSize, boot_memory::kMqdBytes);
  }
  set_pair(Mqd::BaseAddrLo, target.mc_address(mqd));
  set(Mqd::PersistentState, hw::kHqdPersistentState);
  set(Mqd::PipePriority, 2);
  set(Mqd::QueuePriority, 15);
  set(Mqd::Quantum, hw::kHqdQuantum);
  set_pair(Mqd::PqBaseLo, memory.ring >> kBaseUnit);
  set_pair(Mqd::PqRptrReportAddrLo, memory.read_pointer);
  set_pair(Mqd::PqWptrPollAddrLo, memory.write_pointer);
  set(Mqd::PqDoorbellControl,
      hw::word_of(hw::HqdDoorbellControl{.offset = doorbell * kWordsOfDoorbell, .enable = true}));
  if (memory.is_aql) set(Mqd::AqlControl, hw::kHqdAql);
  set(Mqd::PqControl, ring_control(target.registers, xcc, memory));
  set(Mqd::IbControl, hw::kHqdIbControl);
  set(Mqd::HqStatus0, hw::kHqdHqStatus0);
  set(Mqd::MqdControl, hw::kMqdControl);
  set_pair(Mqd::EopBaseAddrLo, memory.eop >> kBaseUnit);
  set(Mqd::EopControl, log2_words(memory.eop_bytes) - 1u);
  return words;
}

void load_on_xcc(const BootTarget& target, u32 queue, u32 xcc, u32 doorbell,
                 const PciQueueMemory& memory) {
  const RegisterAccess registers = target.registers.on(xcc);
  const u64 at =
      boot_memory::kMqds + (queue * boot_memory::kMaxXccs + xcc) * boot_memory::kMqdBytes;
  const std::array<u32, hw::kMqdWords> words = describe(target, at, xcc, doorbell, memory);
  registers.write(Reg::GrbmGfxCntl,
                  hw::GrbmSelect{.pipe = 0, .me = 1, .queue = static_cast<u8>(queue)});
  target.copy_in(at, {reinterpret_cast<const u8*>(words.data()), sizeof words});
  target.flush_hdp();
  for (u32 i = 0; i < hw::kHqdRegisters; ++i)
    registers.write_behind(Reg::CpMqdBaseAddr, i, words[hw::kMqdRegisters + i]);
  registers.write(Reg::CpHqdActive, 1);
  registers.write(Reg::GrbmGfxCntl, hw::GrbmSelect{});
}

Result<void> unload_from_xcc(const RegisterAccess& registers, u32 queue) {
  constexpr u64 kPatience_ns = 1'000'000'000;
  registers.write(Reg::GrbmGfxCntl,
                  hw::GrbmSelect{.pipe = 0, .me = 1, .queue = static_cast<u8>(queue)});
  Result<void> ended;
  if ((registers.read(Reg::CpHqdActive) & 1) != 0) {
    registers.write(Reg::CpHqdDequeueRequest, hw::kDequeueResetWaves);
    registers.write(Reg::SpiComputeQueueReset, 1);
    ended = registers.wait(Reg::CpHqdActive, 1, 0, "the end of a compute queue", kPatience_ns);
  }
  registers.write(Reg::GrbmGfxCntl, hw::GrbmSelect{});
  return ended;
}

}  // namespace

void load_compute_queue(const BootTarget& target, u32 queue, u32 doorbell,
                        const PciQueueMemory& memory) {
  const u32 xccs = memory.is_aql ? target.registers.xccs() : 1;
  for (u32 xcc = 0; xcc < xccs; ++xcc) load_on_xcc(target, queue, xcc, doorbell, memory);
}

Result<void> unload_compute_queue(const RegisterAccess& registers, u32 queue) {
  Result<void> ended;
  for (u32 xcc = 0; xcc < registers.xccs(); ++xcc)
    if (Result<void> one = unload_from_xcc(registers.on(xcc), queue); !one) ended = std::move(one);
  return ended;
}

void load_copy_queue(const BootTarget& target, u32 doorbell, const PciQueueMemory& memory) {
  const RegisterAccess& registers = target.registers;
  registers.write(Reg::Sdma0Queue0MinorPtrUpdate, 1);
  registers.write_pair(Reg::Sdma0Queue0RbRptr, Reg::Sdma0Queue0RbRptrHi, 0);
  registers.write_pair(Reg::Sdma0Queue0RbWptr, Reg::Sdma0Queue0RbWptrHi, 0);
  registers.write_pair(Reg::Sdma0Queue0RbBase, Reg::Sdma0Queue0RbBaseHi, memory.ring >> kBaseUnit);
  registers.write_pair(Reg::Sdma0Queue0RbRptrAddrLo, Reg::Sdma0Queue0RbRptrAddrHi,
                       memory.read_pointer);
  registers.write_pair(Reg::Sdma0Queue0RbWptrPollAddrLo, Reg::Sdma0Queue0RbWptrPollAddrHi,
                       memory.write_pointer);
  registers.write(Reg::Sdma0Queue0DoorbellOffset,
                  hw::word_of(hw::HqdDoorbellControl{.offset = doorbell * kWordsOfDoorbell}));
  registers.change(Reg::Sdma0Queue0Doorbell, 0, hw::kSdmaDoorbellEnable);
  registers.write(Reg::Sdma0Queue0MinorPtrUpdate, 0);
  registers.write(Reg::Sdma0Queue0RbCntl,
                  hw::CopyRingControl{.enable = true,
                                      .size_log2 = log2_words(memory.ring_bytes),
                                      .poll_write_pointer = registers.caps().has_doorbell_ports,
                                      .write_read_pointer = true,
                                      .read_pointer_timer = 4,
                                      .privileged = true});
  registers.change(Reg::Sdma0Queue0IbCntl, 0, hw::kSdmaIbEnable);
}

// The engine is reset, because it may be in the middle of a packet. [tinygrad ip.py
// AM_SDMA.fini_hw()]
void unload_copy_queue(const RegisterAccess& registers) {
  constexpr u64 kReset_ns = 10'000'000;
  if ((registers.read(Reg::Sdma0Queue0RbCntl) & 1) == 0) return;
  registers.change(Reg::Sdma0Queue0RbCntl, 1, 0);
  registers.change(Reg::Sdma0Queue0IbCntl, hw::kSdmaIbEnable, 0);
  registers.change(Reg::Sdma0Queue0Doorbell, hw::kSdmaDoorbellEnable, 0);
  registers.write(Reg::Sdma0Queue0DoorbellOffset, 0);
  // Of blocks of their own the kernel asks the power controller for a reset, tinygrad leaves it.
  // [sdma_v4_4_2.c sdma_v4_4_2_inst_gfx_stop()]
  if (!registers.caps().has_autoload) return;
  registers.write(Reg::GrbmSoftReset, hw::kSoftResetSdma0);
  registers.pause(kReset_ns);
  registers.write(Reg::GrbmSoftReset, 0);
}

}  // namespace doorbell::amd
