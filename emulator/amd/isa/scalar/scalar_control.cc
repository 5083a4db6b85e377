// Scalar control: branches, the end, barriers, messages, the mode. Waits and hints are no-ops: an
// instruction's results are available when the next one runs. For hardware registers see
// hardware_registers.cc.
// [RDNA3, RDNA4 and CDNA3 ISA documents, chapters "Program flow control" and "Instructions"]
#include <fmt/format.h>

#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

Flow nothing(Wave&, const Operation&) { return Flow::Next; }

u64 next_pc(const Operation& op) { return op.pc + op.size; }
u64 target(const Operation& op) { return op.pc + 4 + static_cast<u64>(op.immediate * 4); }

Flow stop(Wave& wave, const Operation& op, Exit::Kind kind) {
  wave.exit = {.kind = kind, .pc = op.pc};
  wave.pc = next_pc(op);
  return Flow::Stop;
}
template <Exit::Kind kind>
Flow stop_for(Wave& wave, const Operation& op) {
  return stop(wave, op, kind);
}

template <auto condition>
Flow branch(Wave& wave, const Operation& op) {
  wave.pc = condition(wave) ? target(op) : next_pc(op);
  return Flow::Jump;
}
template <auto condition>
constexpr Entry branch_if(std::string_view name) {
  return {name, {Type::None, {}, kEndsBlock}, &branch<condition>};
}

Flow set_pc(Wave& wave, const Operation& op) {
  wave.pc = read_64(wave, op.src[0]);
  return Flow::Jump;
}
Flow get_pc(Wave& wave, const Operation& op) {
  wave.set_pair(op.dst, next_pc(op));
  return Flow::Next;
}
Flow swap_pc(Wave& wave, const Operation& op) {
  const u64 to = read_64(wave, op.src[0]);
  wave.set_pair(op.dst, next_pc(op));
  wave.pc = to;
  return Flow::Jump;
}
Flow call(Wave& wave, const Operation& op) {
  wave.set_pair(op.dst, next_pc(op));
  wave.pc = target(op);
  return Flow::Jump;
}
Flow add_pc(Wave& wave, const Operation& op) {
  wave.pc = next_pc(op) + read_64(wave, op.src[0]);
  return Flow::Jump;
}

Flow trap(Wave& wave, const Operation& op) {
  stop(wave, op, Exit::Kind::Trap);
  wave.exit.value = static_cast<u32>(op.immediate) & 0xff;
  return Flow::Stop;
}

// Message 3 of gfx11 and gfx12 gives registers back early, which changes nothing here.
// [RDNA3 ISA, "Messages": MSG_INTERRUPT 1, MSG_DEALLOC_VGPRS 3]
Flow send_message(Wave& wave, const Operation& op) {
  const u32 message = static_cast<u32>(op.immediate) & 0xffff;
  if (message == 3 && wave.chip->generation >= Generation::Gfx11) return Flow::Next;
  stop(wave, op, Exit::Kind::Message);
  wave.exit.value = message;
  return Flow::Stop;
}

// s_sendmsg_rtn: the real time counter is the only message that the wave itself can answer.
template <bool wide>
Flow ask(Wave& wave, const Operation& op) {
  constexpr u32 kGetRealTime = 0x83;
  const u32 message = op.words[0] & 0xff;
  if (message != kGetRealTime) {
    wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
    wave.exit.name = op.name;
    wave.pc = op.pc;
    return Flow::Stop;
  }
  if (wide) {
    wave.set_pair(op.dst, wave.clock);
  } else {
    wave.s[op.dst] = static_cast<u32>(wave.clock);
  }
  return Flow::Next;
}

Flow read_clock(Wave& wave, const Operation& op) {
  wave.set_pair(op.dst, wave.clock);
  return Flow::Next;
}
Flow read_wave_in_group(Wave& wave, const Operation& op) {
  wave.s[op.dst] = wave.wave_in_group;
  return Flow::Next;
}

// ---- barriers of gfx12 [RDNA4 ISA, the instructions' pseudo-code] ----

constexpr i32 kNoBarrier = 0, kGroupBarrier = -1, kTrapBarrier = -2;

// The barrier's number: the operand, a constant, or M0's low bits.
i32 barrier_number(const Wave& wave, const Operation& op) {
  if (op.src[0].kind == Source::Kind::Constant) return static_cast<i32>(op.src[0].value);
  return static_cast<i32>(wave.s[kM0] & 0x1f);
}

// Named barriers exist on chips after gfx12; the trap handler's barrier is reserved.
Flow no_barrier(Wave& wave, const Operation& op, i32 barrier) {
  wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
  wave.exit.name = fmt::format("{} of barrier {}, a wave has only -1", op.entry->name, barrier);
  wave.pc = op.pc;
  return Flow::Stop;
}

template <bool asks_first>
Flow barrier_signal(Wave& wave, const Operation& op) {
  const i32 barrier = barrier_number(wave, op);
  if (barrier == kNoBarrier || barrier == kTrapBarrier) {
    if (asks_first) wave.scc = 0;
    wave.pc = next_pc(op);
    return Flow::Jump;
  }
  if (barrier != kGroupBarrier) return no_barrier(wave, op, barrier);
  stop(wave, op, Exit::Kind::BarrierSignal);
  wave.exit.value = asks_first ? 1 : 0;
  return Flow::Stop;
}
Flow barrier_wait(Wave& wave, const Operation& op) {
  if (op.immediate != kGroupBarrier) return no_barrier(wave, op, static_cast<i32>(op.immediate));
  return stop(wave, op, Exit::Kind::BarrierWait);
}
Flow barrier_state(Wave& wave, const Operation& op) {
  const i32 barrier = barrier_number(wave, op);
  if (barrier != kGroupBarrier) return no_barrier(wave, op, barrier);
  stop(wave, op, Exit::Kind::BarrierState);
  wave.exit.value = op.dst;
  return Flow::Stop;
}

// ---- the mode ----

template <u32 shift>
Flow set_mode_bits(Wave& wave, const Operation& op) {
  wave.set_mode((wave.mode_bits() & ~(15u << shift)) | (static_cast<u32>(op.immediate) & 15)
                                                           << shift);
  set_host_float_mode(wave);
  return Flow::Next;
}

// ---- gfx9's vector register indexing ----
template <bool from_register>
Flow index_on(Wave& wave, const Operation& op) {
  // The modes are the second operand's own code: four bits.
  const u32 modes = op.words[0] >> 8 & 15;
  if (from_register) wave.s[kM0] = (wave.s[kM0] & ~0xffu) | (read_32(wave, op.src[0]) & 0xff);
  wave.s[kM0] = (wave.s[kM0] & ~0xf000u) | modes << 12;
  wave.index_mode = (wave.index_mode & kSkipVectors) | modes;
  wave.pc = next_pc(op);
  return Flow::Jump;
}
Flow index_mode(Wave& wave, const Operation& op) {
  const u32 modes = static_cast<u32>(op.immediate) & 15;
  wave.s[kM0] = (wave.s[kM0] & ~0xf000u) | modes << 12;
  wave.index_mode = (wave.index_mode & kSkipVectors) | modes;
  wave.pc = next_pc(op);
  return Flow::Jump;
}
Flow index_off(Wave& wave, const Operation& op) {
  wave.index_mode &= kSkipVectors;
  wave.pc = next_pc(op);
  return Flow::Jump;
}
Flow index_value(Wave& wave, const Operation& op) {
  wave.s[kM0] = (wave.s[kM0] & ~0xffu) | (read_32(wave, op.src[0]) & 0xff);
  return Flow::Next;
}

// ---- gfx10, gfx11: the halves of a wave of 64 one after the other [RDNA2 ISA, the instructions]
// ----

Flow begin_halves(Wave& wave, const Operation& op) {
  u32& low = wave.s[kExecLo];
  u32& high = wave.s[kExecHi];
  const bool none = low == 0 && (wave.lanes == 32 || high == 0);
  if (!none && low == 0) {
    wave.s[op.dst] = low;
  } else if (!none) {
    wave.s[op.dst] = wave.lanes == 32 ? 0 : high;
    high = 0;
  }
  wave.pc = none ? target(op) : next_pc(op);
  return Flow::Jump;
}
Flow end_halves(Wave& wave, const Operation& op) {
  u32& low = wave.s[kExecLo];
  u32& high = wave.s[kExecHi];
  u32& saved = wave.s[op.dst];
  const bool again = high == 0 && saved != 0;
  if (high != 0) {
    low = saved;
  } else if (again) {
    high = saved;
    saved = low;
    low = 0;
  }
  wave.pc = again ? target(op) : next_pc(op);
  return Flow::Jump;
}

// ---- gfx9: forks, whose other path waits on a stack of scalar registers ----

constexpr u32 kForkDepthShift = 29;  // of MODE's CSP
constexpr u32 kDeepestFork = 7;      // which has three bits

u32 fork_depth(const Wave& wave) { return wave.mode_bits() >> kForkDepthShift; }
void set_fork_depth(Wave& wave, u32 depth) {
  const u32 others = wave.mode_bits() & ((1u << kForkDepthShift) - 1);
  wave.set_mode(others | depth << kForkDepthShift);
}

// Lanes of the mask go to `to`, the others on; of two paths the one with fewer lanes is first.
// [CDNA3 ISA, S_CBRANCH_G_FORK, S_CBRANCH_I_FORK]
Flow take_fork(Wave& wave, const Operation& op, u64 to) {
  const u64 exec = wave.exec(), mask = read_64(wave, op.src[0]);
  const u64 pass = mask & exec, rest = ~mask & exec;
  const bool jumps = pass == exec || (rest != exec && std::popcount(rest) >= std::popcount(pass));
  if (pass != exec && rest != exec) {
    const u32 depth = fork_depth(wave);
    if (depth == kDeepestFork) return stop_undocumented(wave, op, "with seven paths waiting");
    wave.set_pair(depth * 4, jumps ? rest : pass);
    wave.set_pair(depth * 4 + 2, jumps ? next_pc(op) : to);
    set_fork_depth(wave, depth + 1);
    wave.set_mask(kExecLo, jumps ? pass : rest);
  }
  wave.pc = jumps ? to : next_pc(op);
  return Flow::Jump;
}
Flow fork_to_register(Wave& wave, const Operation& op) {
  return take_fork(wave, op, read_64(wave, op.src[1]));
}
Flow fork_to_label(Wave& wave, const Operation& op) { return take_fork(wave, op, target(op)); }

Flow join(Wave& wave, const Operation& op) {
  const u32 depth = fork_depth(wave);
  if (depth == (read_32(wave, op.src[0]) & 7)) {
    wave.pc = next_pc(op);
    return Flow::Jump;
  }
  if (depth == 0) return stop_undocumented(wave, op, "with no path waiting");
  set_fork_depth(wave, depth - 1);
  wave.set_mask(kExecLo, wave.pair((depth - 1) * 4));
  wave.pc = wave.pair((depth - 1) * 4 + 2);
  return Flow::Jump;
}

// Whether vector instructions are skipped: the bit of the first operand that the second names.
Flow skip_vectors(Wave& wave, const Operation& op) {
  const bool skip = read_32(wave, op.src[0]) >> (read_32(wave, op.src[1]) & 31) & 1;
  wave.index_mode = (wave.index_mode & ~kSkipVectors) | (skip ? kSkipVectors : 0);
  return Flow::Next;
}

constexpr Shape kNothing{}, kEnd{Type::None, {}, kEndsBlock};

constexpr Entry kTable[] = {
    branch_if<[](const Wave&) { return true; }>("S_BRANCH"),
    branch_if<[](const Wave& w) { return w.scc == 0; }>("S_CBRANCH_SCC0"),
    branch_if<[](const Wave& w) { return w.scc != 0; }>("S_CBRANCH_SCC1"),
    branch_if<[](const Wave& w) { return w.vcc() == 0; }>("S_CBRANCH_VCCZ"),
    branch_if<[](const Wave& w) { return w.vcc() != 0; }>("S_CBRANCH_VCCNZ"),
    branch_if<[](const Wave& w) { return w.exec() == 0; }>("S_CBRANCH_EXECZ"),
    branch_if<[](const Wave& w) { return w.exec() != 0; }>("S_CBRANCH_EXECNZ"),
    // Taken only under a debugger, of which there is none.
    branch_if<[](const Wave&) { return false; }>("S_CBRANCH_CDBGSYS"),
    branch_if<[](const Wave&) { return false; }>("S_CBRANCH_CDBGUSER"),
    branch_if<[](const Wave&) { return false; }>("S_CBRANCH_CDBGSYS_OR_USER"),
    branch_if<[](const Wave&) { return false; }>("S_CBRANCH_CDBGSYS_AND_USER"),
    {"S_SETPC_B64", {Type::None, {Type::B64}, kEndsBlock}, &set_pc},
    {"S_GETPC_B64", {Type::B64, {}, 0}, &get_pc},
    {"S_SWAPPC_B64", {Type::B64, {Type::B64}, kEndsBlock}, &swap_pc},
    {"S_CALL_B64", {Type::B64, {}, kEndsBlock}, &call},
    {"S_ADD_PC_I64", {Type::None, {Type::I64}, kEndsBlock}, &add_pc},
    {"S_ENDPGM", kEnd, &stop_for<Exit::Kind::EndProgram>},
    {"S_ENDPGM_SAVED", kEnd, &stop_for<Exit::Kind::EndProgram>},
    {"S_BARRIER", kEnd, &stop_for<Exit::Kind::Barrier>},
    {"S_BARRIER_SIGNAL", {Type::None, {Type::B32}, kEndsBlock}, &barrier_signal<false>},
    {"S_BARRIER_SIGNAL_M0", kEnd, &barrier_signal<false>},
    {"S_BARRIER_SIGNAL_ISFIRST", {Type::None, {Type::B32}, kEndsBlock}, &barrier_signal<true>},
    {"S_BARRIER_SIGNAL_ISFIRST_M0", kEnd, &barrier_signal<true>},
    {"S_BARRIER_WAIT", kEnd, &barrier_wait},
    {"S_GET_BARRIER_STATE", {Type::B32, {Type::B32}, kEndsBlock}, &barrier_state},
    {"S_GET_BARRIER_STATE_M0", {Type::B32, {}, kEndsBlock}, &barrier_state},
    {"S_SLEEP", kEnd, &stop_for<Exit::Kind::Sleep>},
    {"S_SLEEP_VAR", {Type::None, {Type::B32}, kEndsBlock}, &stop_for<Exit::Kind::Sleep>},
    {"S_MONITOR_SLEEP", kEnd, &stop_for<Exit::Kind::Sleep>},
    {"S_TRAP", kEnd, &trap},
    {"S_SENDMSG", kEnd, &send_message},
    {"S_SENDMSGHALT", kEnd, &send_message},
    {"S_SENDMSG_RTN_B32", {Type::B32, {}, 0}, &ask<false>},
    {"S_SENDMSG_RTN_B64", {Type::B64, {}, 0}, &ask<true>},
    {"S_ROUND_MODE", kNothing, &set_mode_bits<0>},
    {"S_DENORM_MODE", kNothing, &set_mode_bits<4>},
    {"S_SET_GPR_IDX_ON", {Type::None, {Type::B32}, kEndsBlock}, &index_on<true>},
    {"S_SET_GPR_IDX_MODE", kEnd, &index_mode},
    {"S_SET_GPR_IDX_OFF", kEnd, &index_off},
    {"S_SET_GPR_IDX_IDX", {Type::None, {Type::B32}, 0}, &index_value},
    {"S_SUBVECTOR_LOOP_BEGIN", kEnd, &begin_halves},
    {"S_SUBVECTOR_LOOP_END", kEnd, &end_halves},
    {"S_CBRANCH_G_FORK", {Type::None, {Type::B64, Type::B64}, kEndsBlock}, &fork_to_register},
    {"S_CBRANCH_I_FORK", {Type::None, {Type::B64}, kEndsBlock}, &fork_to_label},
    {"S_CBRANCH_JOIN", {Type::None, {Type::B32}, kEndsBlock}, &join},
    {"S_SETVSKIP", {Type::None, {Type::B32, Type::B32}, 0}, &skip_vectors},
    {"S_GET_SHADER_CYCLES_U64", {Type::B64, {}, 0}, &read_clock},
    {"S_GET_WAVEID_IN_WORKGROUP", {Type::B32, {}, 0}, &read_wave_in_group},
    {"S_NOP", kNothing, &nothing},
    {"S_CLAUSE", kNothing, &nothing},
    {"S_DELAY_ALU", kNothing, &nothing},
    {"S_VERSION", kNothing, &nothing},
    {"S_SETPRIO", kNothing, &nothing},
    {"S_SETPRIO_INC_WG", kNothing, &nothing},
    {"S_SETHALT", kNothing, &nothing},
    {"S_WAKEUP", kNothing, &nothing},
    {"S_INST_PREFETCH", kNothing, &nothing},
    {"S_TTRACEDATA", kNothing, &nothing},
    {"S_TTRACEDATA_IMM", kNothing, &nothing},
    {"S_INCPERFLEVEL", kNothing, &nothing},
    {"S_DECPERFLEVEL", kNothing, &nothing},
    {"S_WAITCNT", kNothing, &nothing},
    {"S_WAITCNT_DEPCTR", kNothing, &nothing},
    {"S_WAITCNT_EXPCNT", kNothing, &nothing},
    {"S_WAITCNT_LGKMCNT", kNothing, &nothing},
    {"S_WAITCNT_VMCNT", kNothing, &nothing},
    {"S_WAITCNT_VSCNT", kNothing, &nothing},
    {"S_WAIT_EVENT", kNothing, &nothing},
    {"S_WAIT_IDLE", kNothing, &nothing},
    {"S_WAIT_ALU", kNothing, &nothing},
    {"S_WAIT_LOADCNT", kNothing, &nothing},
    {"S_WAIT_STORECNT", kNothing, &nothing},
    {"S_WAIT_SAMPLECNT", kNothing, &nothing},
    {"S_WAIT_BVHCNT", kNothing, &nothing},
    {"S_WAIT_EXPCNT", kNothing, &nothing},
    {"S_WAIT_DSCNT", kNothing, &nothing},
    {"S_WAIT_KMCNT", kNothing, &nothing},
    {"S_WAIT_LOADCNT_DSCNT", kNothing, &nothing},
    {"S_WAIT_STORECNT_DSCNT", kNothing, &nothing},
};

}  // namespace

HandlerTable scalar_control_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
