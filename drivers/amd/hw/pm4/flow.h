// PM4 packets that steer the command processor: fillers, predication, jumps into indirect buffers,
// and the launch of a grid. What must be in registers before a launch is compute_registers.h.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/pm4/opcode.h"

namespace doorbell::amd::hw {

// NOP: skip the payload. A count of 0x3fff means no payload at all: one word.
// [nvd.h PACKET3_NOP; torvalds/linux gfx_v10_0.c: .nop = PACKET3(PACKET3_NOP, 0x3FFF)]
struct Nop {
  static constexpr Pm4Id kId{0x10, "NOP"};
  static constexpr u32 kWords = 1, kHeader = packet3(kId);
  static constexpr bool kVariable = true;
  static constexpr u16 kOneWord = 0x3fff;

  u16 count = kOneWord;

  static constexpr void fields(auto& p, auto f) { f("count", kPacketCount, p.count); }
};
static_assert(sound<Nop>());

// PRED_EXEC: of the XCCs of a partition only those in the mask execute the next `count` words; the
// others skip them. Works in indirect buffers only, not in a ring.
// [soc15d.h PACKET3_PRED_EXEC__EXEC_COUNT, __VIRTUAL_XCC_ID_SELECT; tinygrad ops_amd.py _submit]
struct PredExec {
  static constexpr Pm4Id kId{0x23, "PRED_EXEC"};
  static constexpr u32 kWords = 2, kHeader = packet3(kId, kWords);

  u16 count = 0;
  u8 xcc_mask = 0;  // "virtual XCC id select": bit i is the i-th XCC of the partition

  static constexpr void fields(auto& p, auto f) {
    f("count", word(1, 13, 0), p.count);
    f("xcc_mask", word(1, 31, 24), p.xcc_mask);
  }
};
static_assert(sound<PredExec>());

// INDIRECT_BUFFER: execute `words` words at addr, then go on here; with chain, do not come back.
// [nvd.h INDIRECT_BUFFER_VALID; soc15d.h PACKET3_INDIRECT_BUFFER__*]
struct IndirectBuffer {
  static constexpr Pm4Id kId{0x3f, "INDIRECT_BUFFER"};
  static constexpr u32 kWords = 4, kHeader = packet3(kId, kWords);

  u64 addr = 0;
  u32 words = 0;
  bool chain = false;
  bool offload_polling = false;
  bool valid = true;
  u8 vmid = 0;  // the kernel's rings only; user queues run in their own VMID
  u8 cache_policy = 0;
  bool priv = false;

  static constexpr void fields(auto& p, auto f) {
    f("addr", Bits{95, 34}, p.addr, Shift{2});
    f("words", word(3, 19, 0), p.words);
    f("chain", word(3, 20, 20), p.chain);
    f("offload_polling", word(3, 21, 21), p.offload_polling);
    f("valid", word(3, 23, 23), p.valid);
    f("vmid", word(3, 27, 24), p.vmid);
    f("cache_policy", word(3, 29, 28), p.cache_policy);
    f("priv", word(3, 31, 31), p.priv);
  }
};
static_assert(sound<IndirectBuffer>());

// The last word of both launches, as COMPUTE_DISPATCH_INITIATOR has it.
// [torvalds/linux asic_reg/gc/gc_11_0_0_sh_mask.h COMPUTE_DISPATCH_INITIATOR, gc_9_4_3 without
// cs_w32_en]
struct DispatchInitiator {
  static constexpr u32 kWords = 1;

  bool compute_shader_en = true;
  bool partial_tg_en = false;
  bool force_start_at_000 = true;  // else the grid starts at COMPUTE_START_*
  bool ordered_append_enbl = false;
  bool ordered_append_mode = false;
  bool use_thread_dimensions = false;  // the grid is counted in threads, not in work groups
  bool order_mode = false;
  bool scalar_l1_inv_vol = false;
  bool vector_l1_inv_vol = false;
  bool tunnel_enable = false;
  bool restore = false;
  bool cs_w32_en = false;  // gfx10+: waves of 32
  bool amp_shader_en = false;
  bool disable_disp_prempt_en = false;

  static constexpr void fields(auto& p, auto f) {
    f("compute_shader_en", word(0, 0, 0), p.compute_shader_en);
    f("partial_tg_en", word(0, 1, 1), p.partial_tg_en);
    f("force_start_at_000", word(0, 2, 2), p.force_start_at_000);
    f("ordered_append_enbl", word(0, 3, 3), p.ordered_append_enbl);
    f("ordered_append_mode", word(0, 4, 4), p.ordered_append_mode);
    f("use_thread_dimensions", word(0, 5, 5), p.use_thread_dimensions);
    f("order_mode", word(0, 6, 6), p.order_mode);
    f("scalar_l1_inv_vol", word(0, 10, 10), p.scalar_l1_inv_vol);
    f("vector_l1_inv_vol", word(0, 11, 11), p.vector_l1_inv_vol);
    f("tunnel_enable", word(0, 13, 13), p.tunnel_enable);
    f("restore", word(0, 14, 14), p.restore);
    f("cs_w32_en", word(0, 15, 15), p.cs_w32_en);
    f("amp_shader_en", word(0, 16, 16), p.amp_shader_en);
    f("disable_disp_prempt_en", word(0, 17, 17), p.disable_disp_prempt_en);
  }
};
static_assert(sound<DispatchInitiator>());

// DISPATCH_DIRECT: launch x*y*z work groups with the COMPUTE_* registers as they stand. The command
// processor goes on at once; the waves retire when they do.
// [nvd.h PACKET3_DISPATCH_DIRECT; Mesa src/amd/vulkan/radv_cmd_buffer.c radv_emit_dispatch_packets]
struct DispatchDirect {
  static constexpr Pm4Id kId{0x15, "DISPATCH_DIRECT"};
  static constexpr u32 kWords = 5, kHeader = packet3(kId, kWords);

  bool compute = false;  // shader type; the compute engines ignore it
  u32 x = 1, y = 1, z = 1;
  u32 initiator = 0;  // encode(DispatchInitiator{...})[0]

  static constexpr void fields(auto& p, auto f) {
    f("compute", word(0, 1, 1), p.compute);
    f("x", word(1), p.x);
    f("y", word(2), p.y);
    f("z", word(3), p.z);
    f("initiator", word(4), p.initiator);
  }
};
static_assert(sound<DispatchDirect>());

// DISPATCH_INDIRECT of the compute engines: x, y, z are read from three words at addr. (Graphics
// rings have another form, of three words.)
// [Mesa src/amd/vulkan/radv_cmd_buffer.c radv_emit_dispatch_packets, compute queue]
struct DispatchIndirect {
  static constexpr Pm4Id kId{0x16, "DISPATCH_INDIRECT"};
  static constexpr u32 kWords = 4, kHeader = packet3(kId, kWords);

  bool compute = false;
  u64 addr = 0;
  u32 initiator = 0;

  static constexpr void fields(auto& p, auto f) {
    f("compute", word(0, 1, 1), p.compute);
    f("addr", Bits{95, 34}, p.addr, Shift{2});
    f("initiator", word(3), p.initiator);
  }
};
static_assert(sound<DispatchIndirect>());

}  // namespace doorbell::amd::hw
