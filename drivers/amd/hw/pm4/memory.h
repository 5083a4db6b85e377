// PM4 packets that read, write, compare and copy words of memory and registers.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/pm4/opcode.h"

namespace doorbell::amd::hw {

// [nvd.h PACKET3_*__CACHE_POLICY; gfx12 calls them temporal hints RT, NT, HT, LU]
enum class CachePolicy : u8 { Lru, Stream, Noa, Bypass };
std::string_view name_of(CachePolicy policy);

// [nvd.h WAIT_REG_MEM_FUNCTION]
enum class Compare : u8 { Always, Less, LessEqual, Equal, NotEqual, GreaterEqual, Greater };
std::string_view name_of(Compare compare);

enum class WaitSpace : u8 { Register, Memory };
std::string_view name_of(WaitSpace space);

// [nvd.h WAIT_REG_MEM_OPERATION; soc15d.h PACKET3_WAIT_REG_MEM__OPERATION__WAIT_MEM_PREEMPTABLE]
enum class WaitOperation : u8 { Wait, WriteWaitWrite, unk_2, WaitPreemptable };
std::string_view name_of(WaitOperation operation);

// WAIT_REG_MEM on memory: the command processor stalls until (*addr & mask) <function> reference.
//   while (!function(load32(addr) & mask, reference)) delay(16 * poll_interval clocks);
// [nvd.h PACKET3_WAIT_REG_MEM, WAIT_REG_MEM_*; soc15d.h PACKET3_WAIT_REG_MEM__*]
struct WaitRegMem {
  static constexpr Pm4Id kId{0x3c, "WAIT_REG_MEM"};
  static constexpr u32 kWords = 7, kHeader = packet3(kId, kWords);

  Compare function = Compare::GreaterEqual;
  WaitSpace space = WaitSpace::Memory;
  WaitOperation operation = WaitOperation::Wait;
  bool engine_pfp = false;  // graphics rings
  CachePolicy cache_policy = CachePolicy::Lru;
  u64 addr = 0;
  u32 reference = 0, mask = ~u32{0};
  u16 poll_interval = 4;
  bool optimize_ace_offload_mode = false;

  static constexpr void fields(auto& p, auto f) {
    f("function", word(1, 2, 0), p.function);
    f("space", word(1, 5, 4), p.space);
    f("operation", word(1, 7, 6), p.operation);
    f("engine_pfp", word(1, 8, 8), p.engine_pfp);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("addr", Bits{127, 66}, p.addr, Shift{2});
    f("reference", word(4), p.reference);
    f("mask", word(5), p.mask);
    f("poll_interval", word(6, 15, 0), p.poll_interval);
    f("optimize_ace_offload_mode", word(6, 31, 31), p.optimize_ace_offload_mode);
  }
};
static_assert(sound<WaitRegMem>());

// WAIT_REG_MEM on a register: the same with a register's address in words. With WriteWaitWrite the
// reference is first written to `reg`, then `done_reg` is compared: a flush and its
// acknowledgement. [nvd.h PACKET3_WAIT_REG_MEM, WAIT_REG_MEM_OPERATION 1; torvalds/linux
// gfx_v10_0.c gfx_v10_0_wait_reg_mem, gfx_v10_0_ring_emit_hdp_flush]
struct WaitReg {
  static constexpr Pm4Id kId = WaitRegMem::kId;
  static constexpr u32 kWords = 7, kHeader = packet3(kId, kWords);
  static constexpr bool matches(std::span<const u32> words) {
    return words.size() > 1 &&
           static_cast<WaitSpace>(extract(words, word(1, 5, 4))) == WaitSpace::Register;
  }

  Compare function = Compare::Equal;
  WaitSpace space = WaitSpace::Register;
  WaitOperation operation = WaitOperation::Wait;
  bool engine_pfp = false;
  u32 reg = 0, done_reg = 0;
  u32 reference = 0, mask = ~u32{0};
  u16 poll_interval = 4;

  static constexpr void fields(auto& p, auto f) {
    f("function", word(1, 2, 0), p.function);
    f("space", word(1, 5, 4), p.space);
    f("operation", word(1, 7, 6), p.operation);
    f("engine_pfp", word(1, 8, 8), p.engine_pfp);
    f("reg", word(2, 17, 0), p.reg);
    f("done_reg", word(3, 17, 0), p.done_reg);
    f("reference", word(4), p.reference);
    f("mask", word(5), p.mask);
    f("poll_interval", word(6, 15, 0), p.poll_interval);
  }
};
static_assert(sound<WaitReg>());

// WAIT_REG_MEM64: the same on 64 bits of memory, which lie at a multiple of 8.
// [nvd.h PACKET3_WAIT_REG_MEM64; GPUOpen-Drivers/pal gfx9_f32_mec_pm4_packets.h
// PM4_MEC_WAIT_REG_MEM64]
struct WaitRegMem64 {
  static constexpr Pm4Id kId{0x93, "WAIT_REG_MEM64"};
  static constexpr u32 kWords = 9, kHeader = packet3(kId, kWords);

  Compare function = Compare::GreaterEqual;
  WaitSpace space = WaitSpace::Memory;
  WaitOperation operation = WaitOperation::Wait;
  CachePolicy cache_policy = CachePolicy::Lru;
  u64 addr = 0;
  u64 reference = 0, mask = ~u64{0};
  u16 poll_interval = 4;
  bool optimize_ace_offload_mode = false;

  static constexpr void fields(auto& p, auto f) {
    f("function", word(1, 2, 0), p.function);
    f("space", word(1, 5, 4), p.space);
    f("operation", word(1, 7, 6), p.operation);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("addr", Bits{127, 67}, p.addr, Shift{3});
    f("reference", Bits{191, 128}, p.reference);
    f("mask", Bits{255, 192}, p.mask);
    f("poll_interval", word(8, 15, 0), p.poll_interval);
    f("optimize_ace_offload_mode", word(8, 31, 31), p.optimize_ace_offload_mode);
  }
};
static_assert(sound<WaitRegMem64>());

// [soc15d.h PACKET3_COPY_DATA__SRC_SEL, __DST_SEL; 1 and 5 are obsolete names of L2]
enum class CopySource : u8 {
  Register,
  Memory,
  Tcl2,
  Gds,
  PerfCounters,
  Immediate,
  AtomicReturn,
  GdsAtomicReturn0,
  GdsAtomicReturn1,
  GpuClockCount,
  SystemClockCount
};
std::string_view name_of(CopySource source);
enum class CopyTarget : u8 { Register, unk_1, Tcl2, Gds, PerfCounters, Memory, RegisterDc };
std::string_view name_of(CopyTarget target);

// COPY_DATA: *dst = *src, 32 or 64 bits; with wr_confirm the next packet waits for the write.
// [soc15d.h PACKET3_COPY_DATA__*]
struct CopyData {
  static constexpr Pm4Id kId{0x40, "COPY_DATA"};
  static constexpr u32 kWords = 6, kHeader = packet3(kId, kWords);

  CopySource src_sel = CopySource::Memory;
  CopyTarget dst_sel = CopyTarget::Tcl2;
  CachePolicy src_cache_policy = CachePolicy::Lru;
  bool count_sel_64 = false;
  bool wr_confirm = false;
  CachePolicy dst_cache_policy = CachePolicy::Lru;
  bool pq_exe_status = false;
  u64 src = 0;  // address, register's address in words, or the immediate value, by src_sel
  u64 dst = 0;

  static constexpr void fields(auto& p, auto f) {
    f("src_sel", word(1, 3, 0), p.src_sel);
    f("dst_sel", word(1, 11, 8), p.dst_sel);
    f("src_cache_policy", word(1, 14, 13), p.src_cache_policy);
    f("count_sel_64", word(1, 16, 16), p.count_sel_64);
    f("wr_confirm", word(1, 20, 20), p.wr_confirm);
    f("dst_cache_policy", word(1, 26, 25), p.dst_cache_policy);
    f("pq_exe_status", word(1, 29, 29), p.pq_exe_status);
    f("src", Bits{127, 64}, p.src);
    f("dst", Bits{191, 128}, p.dst);
  }
};
static_assert(sound<CopyData>());

// [soc15d.h PACKET3_DMA_DATA_SRC_SEL, _DST_SEL. The compute engines take no others, nor GDS on
// gfx12: GPUOpen-Drivers/pal, PM4_MEC_DMA_DATA]
enum class DmaSource : u8 { Memory, Gds, Data, L2 };
std::string_view name_of(DmaSource source);
enum class DmaTarget : u8 { Memory, Gds, Nowhere, L2 };
std::string_view name_of(DmaTarget target);

// DMA_DATA: the command processor's own copy of bytes, at any alignment:
//   for (i = 0; i < byte_count; ++i) dst8[i] = src8[i], or byte i % 4 of the data;
// with cp_sync the next packet waits for it; with raw_wait it waits for the one before.
// [soc15d.h PACKET3_DMA_DATA*; gfx_v9_0.c gfx_v9_0_do_edc_gds_workarounds, on a compute ring;
// libdrm tests/amdgpu/basic_tests.c, amdgpu_command_submission_copy_linear_helper, on compute
// rings too]
struct DmaData {
  static constexpr Pm4Id kId{0x50, "DMA_DATA"};
  static constexpr u32 kWords = 7, kHeader = packet3(kId, kWords);
  // The field would take 0x3ffffff, which leaves what follows unaligned.
  static constexpr u64 kMaxBytes = u64{1} << 25;

  bool engine_pfp = false;  // graphics rings
  CachePolicy src_cache_policy = CachePolicy::Lru;
  DmaTarget dst_sel = DmaTarget::L2;
  CachePolicy dst_cache_policy = CachePolicy::Lru;
  DmaSource src_sel = DmaSource::L2;
  bool cp_sync = true;
  u64 src = 0;  // or the data, in its lower half
  u64 dst = 0;
  u32 byte_count = 0;
  bool src_is_register = false, dst_is_register = false;
  bool src_stays = false, dst_stays = false;  // the same address over and over
  bool raw_wait = false;
  bool no_write_confirm = false;

  static constexpr void fields(auto& p, auto f) {
    f("engine_pfp", word(1, 0, 0), p.engine_pfp);
    f("src_cache_policy", word(1, 14, 13), p.src_cache_policy);
    f("dst_sel", word(1, 21, 20), p.dst_sel);
    f("dst_cache_policy", word(1, 26, 25), p.dst_cache_policy);
    f("src_sel", word(1, 30, 29), p.src_sel);
    f("cp_sync", word(1, 31, 31), p.cp_sync);
    f("src", Bits{127, 64}, p.src);
    f("dst", Bits{191, 128}, p.dst);
    f("byte_count", word(6, 25, 0), p.byte_count);
    f("src_is_register", word(6, 26, 26), p.src_is_register);
    f("dst_is_register", word(6, 27, 27), p.dst_is_register);
    f("src_stays", word(6, 28, 28), p.src_stays);
    f("dst_stays", word(6, 29, 29), p.dst_stays);
    f("raw_wait", word(6, 30, 30), p.raw_wait);
    f("no_write_confirm", word(6, 31, 31), p.no_write_confirm);
  }
};
static_assert(sound<DmaData>());

// [nvd.h WRITE_DATA_DST_SEL]
enum class WriteTarget : u8 { Register, MemorySync, Tcl2, Gds, unk_4, Memory, RegisterAdc };
std::string_view name_of(WriteTarget target);

// WRITE_DATA: the words of the payload to consecutive words from addr on (to one word over and over
// with one_addr); with wr_confirm the next packet waits for the writes.
// [nvd.h PACKET3_WRITE_DATA, WRITE_DATA_*; soc15d.h PACKET3_WRITE_DATA__*]
struct WriteData {
  static constexpr Pm4Id kId{0x37, "WRITE_DATA"};
  static constexpr u32 kWords = 4, kHeader = packet3(kId);
  static constexpr bool kVariable = true;

  u16 count = count_of(5);  // with one word of payload
  WriteTarget dst_sel = WriteTarget::Memory;
  bool one_addr = false;
  bool wr_confirm = false;
  CachePolicy cache_policy = CachePolicy::Lru;
  u8 engine_sel = 0;  // graphics rings: 0 ME, 1 PFP, 2 CE
  u64 addr = 0;       // or a register's address in words

  static constexpr void fields(auto& p, auto f) {
    f("count", kPacketCount, p.count);
    f("dst_sel", word(1, 11, 8), p.dst_sel);
    f("one_addr", word(1, 16, 16), p.one_addr);
    f("wr_confirm", word(1, 20, 20), p.wr_confirm);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("engine_sel", word(1, 31, 30), p.engine_sel);
    f("addr", Bits{127, 64}, p.addr);
  }
};
static_assert(sound<WriteData>());

// [nvd.h PACKET3_ATOMIC_MEM__COMMAND__*]
enum class AtomicCommand : u8 { SinglePass, LoopUntilEqual, WaitForWrite, SendAndContinue };
constexpr std::string_view name_of(AtomicCommand command) {
  constexpr std::string_view kNames[] = {"SinglePass", "LoopUntilEqual", "WaitForWrite",
                                         "SendAndContinue"};
  const auto index = static_cast<usize>(command);
  return index < std::size(kNames) ? kNames[index] : std::string_view();
}

// ATOMIC_MEM: old = *addr; *addr = atomic(old, data, compare), as one, of 32 or 64 bits. With
// LoopUntilEqual it is repeated until old is `compare`; with WaitForWrite the next packet waits for
// the write.
// [nvd.h PACKET3_ATOMIC_MEM, its list of fields, of torvalds/linux; written by ROCm aqlprofile
// src/pm4/gfx10_cmd_builder.h BuildMutexAcquirePacket() and BuildMutexReleasePacket(), on user
// queues, and Mesa src/amd/common/ac_sqtt.c; read by Mesa src/amd/common/ac_parse_ib.c
// PKT3_ATOMIC_MEM. Numbers of `atomic`: navi10_enum.h GL2_OP_ATOMIC_*]
struct AtomicMem {
  static constexpr Pm4Id kId{0x1e, "ATOMIC_MEM"};
  static constexpr u32 kWords = 9, kHeader = packet3(kId, kWords);
  // Of `atomic`: bits beside the operation.
  static constexpr u8 k64Bit = 0x20, kWithoutReturn = 0x40;

  u8 atomic = 0;  // operation and bits
  AtomicCommand command = AtomicCommand::SinglePass;
  CachePolicy cache_policy = CachePolicy::Lru;
  u8 engine_sel = 0;  // graphics rings
  u64 addr = 0;
  u64 data = 0, compare = 0;
  u16 loop_interval = 0;

  static constexpr void fields(auto& p, auto f) {
    f("atomic", word(1, 6, 0), p.atomic);
    f("command", word(1, 11, 8), p.command);
    f("cache_policy", word(1, 26, 25), p.cache_policy);
    f("engine_sel", word(1, 31, 30), p.engine_sel);
    f("addr", Bits{127, 64}, p.addr);
    f("data", Bits{191, 128}, p.data);
    f("compare", Bits{255, 192}, p.compare);
    f("loop_interval", word(8, 12, 0), p.loop_interval);
  }
};
static_assert(sound<AtomicMem>());
// The words of aqlprofile's BuildMutexAcquirePacket() for a mutex at 0x1'0000'2000 and slot 5.
static_assert(encode(AtomicMem{.atomic = 8,
                               .command = AtomicCommand::LoopUntilEqual,
                               .addr = 0x1'0000'2000,
                               .data = 5,
                               .loop_interval = 4}) ==
              Words<AtomicMem>{0xc0071e00, 0x108, 0x2000, 0x1, 5, 0, 0, 0, 4});

}  // namespace doorbell::amd::hw
