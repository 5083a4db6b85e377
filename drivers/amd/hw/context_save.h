// The area into which a compute queue's waves are saved when it is preempted (CREATE_QUEUE's
// ctx_save_restore_address): per XCC a header, the control stack, the waves' registers. Sizes are
// the kernel's to say (the node's properties); what lies where behind the header is read in
// saved_waves.h.
//
//   0                     header
//   control_stack_offset  the control stack, which grew down: the last word pushed is the first
//   ...                   its end, and the beginning of the waves' state, which grew up
//   wave_state_offset     the end of the waves' state
//
// The stack's first two words are the command processor's own. Of the others, bit 31 says that a
// word describes the waves that follow, bit 30 that it is an event, neither that it is a wave. The
// waves follow each other in the stack as their state does from its end downwards; of a work group
// the first wave comes first. From gfx10 on a description has a second word.
//
// A wave's state, from low to high addresses: vector registers (v0's lanes first), on gfx9 the
// accumulation registers, on gfx10 and later those that both halves of a wave share, scalar
// registers, 16 words of SavedRegisters, 16 of trap registers, and of a group's first wave its LDS;
// on gfx9 64 bytes more. [ROCm/ROCdbgapi 61dfa5620c98 src/architecture.cpp, control_stack_iterate()
// L3218 and L5052, register_address() L3072, L3450, L4673, L6782; src/queue.cpp L786; on gfx9 also
// ROCm/rocr_debug_agent e4f37f2 src/HSADebugInfo.cpp ProcessQueueWaveStates(), which is older;
// IS_EVENT, IS_STATE: GPUOpen-Drivers/pal c5e8000 gfx9_plus_merged_registers.h COMPUTE_RELAUNCH;
// order of registers also torvalds/linux drivers/gpu/drm/amd/amdkfd/cwsr_trap_handler_gfx9.asm,
// _gfx10.asm, _gfx12.asm, L_SAVE_HWREG; directions: amdkfd/kfd_mqd_manager_v11.c get_wave_state()]
#pragma once

#include "base/bits/record.h"

namespace doorbell::amd::hw {

// At the beginning of each XCC's part. Offsets count from this header. [torvalds/linux
// include/uapi/linux/kfd_ioctl.h kfd_context_save_area_header, since 1.13]
//
// err_payload_addr and err_event_id are the client's, by which the kernel tells exceptions of a
// compute queue of any type (libhsakmt writes them for PM4 as for AQL, in each part):
//
//   header = *(process's address) ctx_save_restore_address;
//   *header.err_payload_addr |= reason; set_event(header.err_event_id);
//
// It follows both as addresses of the process, so it finds them only where the area lies at the
// same address for GPU and host, as all of ROCr's memory does, and none of ours: here they stay 0,
// and what the kernel would write goes nowhere (get_user() fails). An AQL queue tells its errors by
// queue_inactive_signal; a wave of a PM4 queue that stops is found when the queue hangs, and says
// by its saved status that it met an illegal instruction. [ROCm/rocm-systems
// projects/rocr-runtime/libhsakmt/src/queues.c fill_cwsr_header(); torvalds/linux
// drivers/gpu/drm/amd/amdkfd/kfd_process.c send_exception_work_handler()]
struct ContextSaveHeader {
  u32 control_stack_offset = 0, control_stack_size = 0;
  u32 wave_state_offset = 0, wave_state_size = 0;
  u32 debug_offset = 0, debug_size = 0;
  u64 err_payload_addr = 0;
  u32 err_event_id = 0, reserved1 = 0;
};
static_assert(sizeof(ContextSaveHeader) == 40);

// ---- words of the control stack -----------------------------------------------------------------

inline constexpr Bits kRelaunchIsEvent = word(0, 30, 30), kRelaunchIsState = word(0, 31, 31);

// What the waves that follow were given, on gfx90a and gfx940. vgprs counts 8 registers less one,
// accumulation registers included, which begin after (accum_offset + 1) * 4; sgprs counts 16 less
// one, the trap's included; lds_size units of 512 bytes, of gfx950 1280. [ROCdbgapi
// src/architecture.cpp L2341, L2346, L3552, L3557, L3606; gfx950: ROCm/rocm-systems 01c90f7
// projects/rocdbgapi/src/architecture.cpp gfx950_t::cwsr_record_t::lds_size()]
struct RelaunchStateGfx9 {
  static constexpr u32 kWords = 1;
  static constexpr u32 kHeader = 1u << 31;
  u8 vgprs = 0, sgprs = 0, lds_size = 0, accum_offset = 0;
  static constexpr void fields(auto& p, auto f) {
    f("vgprs", word(0, 5, 0), p.vgprs);
    f("sgprs", word(0, 8, 6), p.sgprs);
    f("lds_size", word(0, 16, 9), p.lds_size);
    f("accum_offset", word(0, 29, 24), p.accum_offset);
  }
};
static_assert(sound<RelaunchStateGfx9>());
// By hand, from the cited places.
static_assert(encode(RelaunchStateGfx9{.vgprs = 3, .sgprs = 7, .lds_size = 8, .accum_offset = 3}) ==
              std::array<u32, 1>{0x830011c3});

// One wave of them. [ROCdbgapi src/architecture.cpp L2356 to L2379, L3651]
struct RelaunchWaveGfx9 {
  static constexpr u32 kWords = 1;
  u16 scratch_slot = 0;
  u8 shader_engine = 0;
  bool scratch = false, last_wave = false, first_wave = false;
  static constexpr void fields(auto& p, auto f) {
    f("scratch_slot", word(0, 8, 0), p.scratch_slot);
    f("shader_engine", word(0, 10, 9), p.shader_engine);
    f("scratch", word(0, 15, 15), p.scratch);
    f("last_wave", word(0, 16, 16), p.last_wave);
    f("first_wave", word(0, 17, 17), p.first_wave);
  }
};
static_assert(sound<RelaunchWaveGfx9>());
static_assert(encode(RelaunchWaveGfx9{
                  .scratch_slot = 5, .shader_engine = 1, .scratch = true, .first_wave = true}) ==
              std::array<u32, 1>{0x00028205});

// What the waves that follow were given, from gfx10 on; a word of no interest follows. vgprs counts
// 8 registers less one in waves of 32, else 4; shared_vgprs counts 8 of 32 lanes; lds_size units of
// 512 bytes. [ROCdbgapi src/architecture.cpp L4091 to L4103, L4880 to L4906, L5076]
struct RelaunchState {
  static constexpr u32 kWords = 1;
  static constexpr u32 kHeader = 1u << 31;
  u8 vgprs = 0, lds_size = 0;
  bool wave32 = false;
  u8 shared_vgprs = 0;
  static constexpr void fields(auto& p, auto f) {
    f("vgprs", word(0, 5, 0), p.vgprs);
    f("lds_size", word(0, 17, 10), p.lds_size);
    f("wave32", word(0, 24, 24), p.wave32);
    f("shared_vgprs", word(0, 29, 26), p.shared_vgprs);
  }
};
static_assert(sound<RelaunchState>());
static_assert(encode(RelaunchState{.vgprs = 7, .lds_size = 2, .wave32 = true}) ==
              std::array<u32, 1>{0x81000807});

// One wave of them. gfx10's shader_engine has two bits. [ROCdbgapi src/architecture.cpp L4106 to
// L4129, L5198]
struct RelaunchWave {
  static constexpr u32 kWords = 1;
  u16 scratch_slot = 0;
  bool scratch = false, first_wave = false;
  u8 shader_engine = 0;
  bool last_wave = false;
  static constexpr void fields(auto& p, auto f) {
    f("scratch_slot", word(0, 9, 0), p.scratch_slot);
    f("scratch", word(0, 11, 11), p.scratch);
    f("first_wave", word(0, 12, 12), p.first_wave);
    f("shader_engine", word(0, 26, 24), p.shader_engine);
    f("last_wave", word(0, 29, 29), p.last_wave);
  }
};
static_assert(sound<RelaunchWave>());
static_assert(encode(RelaunchWave{.scratch_slot = 3, .first_wave = true, .last_wave = true}) ==
              std::array<u32, 1>{0x20001003});

// ---- 16 words of a wave -------------------------------------------------------------------------

// gfx9. pc_flags: what the trap handler keeps of a scalar load that is to be repeated. [Linux
// cwsr_trap_handler_gfx9.asm L_SAVE_HWREG]
struct SavedRegistersGfx9 {
  static constexpr u32 kWords = 16;
  u32 m0 = 0;
  u64 pc = 0;
  u16 pc_flags = 0;
  u64 exec = 0;
  u32 status = 0, trapsts = 0;
  u64 xnack_mask = 0;
  u32 mode = 0;
  static constexpr void fields(auto& p, auto f) {
    f("m0", word(0), p.m0);
    f("pc", Bits{79, 32}, p.pc);
    f("pc_flags", word(2, 31, 16), p.pc_flags);
    f("exec", Bits{159, 96}, p.exec);
    f("status", word(5), p.status);
    f("trapsts", word(6), p.trapsts);
    f("xnack_mask", Bits{287, 224}, p.xnack_mask);
    f("mode", word(9), p.mode);
  }
};
static_assert(sound<SavedRegistersGfx9>());

// gfx10 and gfx11. [Linux cwsr_trap_handler_gfx10.asm L_SAVE_HWREG]
struct SavedRegisters {
  static constexpr u32 kWords = 16;
  u32 m0 = 0;
  u64 pc = 0;
  u16 pc_flags = 0;
  u64 exec = 0;
  u32 status = 0, trapsts = 0, xnack_mask = 0, mode = 0;
  u64 flat_scratch = 0;
  static constexpr void fields(auto& p, auto f) {
    f("m0", word(0), p.m0);
    f("pc", Bits{79, 32}, p.pc);
    f("pc_flags", word(2, 31, 16), p.pc_flags);
    f("exec", Bits{159, 96}, p.exec);
    f("status", word(5), p.status);
    f("trapsts", word(6), p.trapsts);
    f("xnack_mask", word(7), p.xnack_mask);
    f("mode", word(8), p.mode);
    f("flat_scratch", Bits{351, 288}, p.flat_scratch);
  }
};
static_assert(sound<SavedRegisters>());

// gfx12, where STATUS and TRAPSTS are several registers. [Linux cwsr_trap_handler_gfx12.asm
// L_SAVE_HWREG]
struct SavedRegistersGfx12 {
  static constexpr u32 kWords = 16;
  u32 m0 = 0;
  u64 pc = 0;
  u16 pc_flags = 0;
  u64 exec = 0;
  u32 state_priv = 0, excp_flag_priv = 0, xnack_mask = 0, mode = 0;
  u64 scratch_base = 0;
  u32 excp_flag_user = 0, trap_ctrl = 0, status = 0, barrier_state = 0;
  static constexpr void fields(auto& p, auto f) {
    f("m0", word(0), p.m0);
    f("pc", Bits{79, 32}, p.pc);
    f("pc_flags", word(2, 31, 16), p.pc_flags);
    f("exec", Bits{159, 96}, p.exec);
    f("state_priv", word(5), p.state_priv);
    f("excp_flag_priv", word(6), p.excp_flag_priv);
    f("xnack_mask", word(7), p.xnack_mask);
    f("mode", word(8), p.mode);
    f("scratch_base", Bits{351, 288}, p.scratch_base);
    f("excp_flag_user", word(11), p.excp_flag_user);
    f("trap_ctrl", word(12), p.trap_ctrl);
    f("status", word(13), p.status);
    f("barrier_state", word(14), p.barrier_state);
  }
};
static_assert(sound<SavedRegistersGfx12>());

// STATUS of gfx9 to gfx11. [gc_9_4_3_sh_mask.h, gc_11_0_0_sh_mask.h SQ_WAVE_STATUS]
inline constexpr Bits kStatusScc = word(0, 0, 0), kStatusExecz = word(0, 9, 9),
                      kStatusVccz = word(0, 10, 10), kStatusInBarrier = word(0, 12, 12),
                      kStatusHalt = word(0, 13, 13);
// STATE_PRIV of gfx12. [Linux cwsr_trap_handler_gfx12.asm SQ_WAVE_STATE_PRIV_*]
inline constexpr Bits kStatePrivBarrierComplete = word(0, 2, 2), kStatePrivScc = word(0, 9, 9),
                      kStatePrivHalt = word(0, 14, 14);
// TRAPSTS and EXCP_FLAG_PRIV: what stopped a wave. [the same, SQ_WAVE_TRAPSTS_*,
// SQ_WAVE_EXCP_FLAG_PRIV_*]
inline constexpr Bits kTrapstsMemViol = word(0, 8, 8), kTrapstsIllegalInst = word(0, 11, 11),
                      kExcpMemViol = word(0, 4, 4), kExcpIllegalInst = word(0, 6, 6);
// The kernel's trap handler halts a wave that an exception stopped, unless a client has installed a
// second handler, and moves its PC so many bytes back: saving would fail at an S_ENDPGM.
// [Linux 6.12 cwsr_trap_handler_gfx9.asm, _gfx10.asm, _gfx12.asm, L_NO_NEXT_TRAP: "Rewind the PC"]
inline constexpr u64 kHaltedPcRewind = 8;

// ---- sizes --------------------------------------------------------------------------------------

inline constexpr u32 kSavedRegisterBytes = 64, kSavedTrapRegisterBytes = 64;
inline constexpr u32 kSavedGapBytesGfx9 = 64;  // behind each wave
inline constexpr u32 kSavedScalars = 128;      // from gfx10 on; 108 of them are written
inline constexpr u32 kStackHeaderWords = 2;

}  // namespace doorbell::amd::hw
