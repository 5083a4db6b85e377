// [torvalds/linux drivers/gpu/drm/amd/amdkfd/cwsr_trap_handler_gfx9.asm, _gfx10.asm, _gfx12.asm,
// L_SAVE to L_SAVE_VGPR_END: order and sizes. For the command processor's words in the control
// stack: ROCm/ROCdbgapi src/architecture.cpp control_stack_iterate()]
#include "emulator/amd/compute/wave_save.h"

#include <cstring>

namespace doorbell::emu::amdgpu {
namespace {

namespace hw = amd::hw;

u32 round_up(u32 value, u32 to) { return (value + to - 1) / to * to; }

// Sizes common to all waves of the group.
struct WaveShape {
  u32 vectors = 0, accumulators = 0, scalars = 0;  // registers
  u32 lds_units = 0;
  u32 lds_bytes = 0;  // as saved
};

WaveShape shape_of(const Wave& wave) {
  const Chip& chip = *wave.chip;
  WaveShape shape;
  shape.vectors = wave.vgpr_count;
  if (chip.generation == Generation::Gfx9) {
    // One file of registers, allocated by eights.
    const u32 all = round_up(wave.vgpr_count + wave.accumulator_count, 8);
    shape.accumulators = all - wave.vgpr_count;
    shape.scalars = round_up(wave.sgpr_count, 16);
  } else {
    shape.vectors = round_up(wave.vgpr_count, wave.lanes == 32 ? 8 : 4);
    shape.scalars = hw::kSavedScalars;
  }
  shape.lds_units = (wave.lds_bytes + chip.lds_granule - 1) / chip.lds_granule;
  shape.lds_bytes = shape.lds_units * chip.lds_granule;
  return shape;
}

void append(std::vector<u8>& bytes, const void* from, usize count) {
  const auto* first = static_cast<const u8*>(from);
  bytes.insert(bytes.end(), first, first + count);
}

void save_vectors(const Wave& wave, const WaveShape& shape, std::vector<u8>& bytes) {
  const usize row = wave.lanes * sizeof(u32), start = bytes.size();
  append(bytes, wave.v, wave.vgpr_count * row);
  bytes.resize(start + shape.vectors * row);
  // Accumulation register n is row 256 + n here.
  const u32 accumulators = std::min(shape.accumulators, wave.chip->vgprs - 256u);
  if (shape.accumulators > 0) append(bytes, wave.v + usize{256} * wave.lanes, accumulators * row);
  bytes.resize(start + (shape.vectors + shape.accumulators) * row);
}

// On gfx9 VCC is in the last two registers that the kernel requested; the hardware may allocate
// more behind them. On later chips it is at 106.
void save_scalars(const Wave& wave, const WaveShape& shape, std::vector<u8>& bytes) {
  std::array<u32, hw::kSavedScalars> words{};
  const bool fixed = wave.chip->generation != Generation::Gfx9;
  const u32 vcc = fixed ? u32{kVccLo} : std::min(shape.scalars, 108u) - 2;
  std::copy_n(wave.s.begin(), vcc, words.begin());
  words[vcc] = wave.s[kVccLo];
  words[vcc + 1] = wave.s[kVccHi];
  append(bytes, words.data(), shape.scalars * sizeof(u32));
}

u32 flag(Bits place, bool set) {
  std::array<u32, 1> words{};
  deposit(words, place, set ? 1 : 0);
  return words[0];
}

// A wave that the trap handler halted has been moved back.
template <class T>
T common(const Wave& wave, bool halted) {
  T registers;
  registers.m0 = wave.s[kM0];
  registers.pc = (wave.pc - (halted ? hw::kHaltedPcRewind : 0)) & ((u64{1} << 48) - 1);
  registers.exec = wave.exec();
  registers.mode = wave.mode_bits();
  return registers;
}

u32 status_of(const Wave& wave, bool in_barrier, bool halted) {
  return flag(hw::kStatusScc, wave.scc != 0) | flag(hw::kStatusExecz, wave.exec() == 0) |
         flag(hw::kStatusVccz, wave.vcc() == 0) | flag(hw::kStatusInBarrier, in_barrier) |
         flag(hw::kStatusHalt, halted);
}

void save_registers(const WorkGroup::Member& member, const StoppedWave* stopped,
                    std::vector<u8>& bytes) {
  const Wave& wave = *member.wave;
  const bool at_barrier = member.state == WorkGroup::State::AtBarrier;
  const bool violation = stopped && stopped->memory_violation;
  const bool illegal = stopped && stopped->illegal_instruction;
  const auto put = [&](const auto& registers) {
    const auto words = encode(registers);
    append(bytes, words.data(), sizeof words);
  };
  if (wave.chip->generation == Generation::Gfx12) {
    auto registers = common<hw::SavedRegistersGfx12>(wave, stopped != nullptr);
    registers.state_priv = flag(hw::kStatePrivBarrierComplete, member.barrier_complete) |
                           flag(hw::kStatePrivScc, wave.scc != 0) |
                           flag(hw::kStatePrivHalt, stopped != nullptr);
    registers.excp_flag_priv =
        flag(hw::kExcpMemViol, violation) | flag(hw::kExcpIllegalInst, illegal);
    registers.scratch_base = wave.flat_scratch;
    return put(registers);
  }
  const u32 status = status_of(wave, at_barrier, stopped != nullptr);
  const u32 trapsts = flag(hw::kTrapstsMemViol, violation) | flag(hw::kTrapstsIllegalInst, illegal);
  if (wave.chip->generation == Generation::Gfx9) {
    auto registers = common<hw::SavedRegistersGfx9>(wave, stopped != nullptr);
    registers.status = status;
    registers.trapsts = trapsts;
    return put(registers);
  }
  auto registers = common<hw::SavedRegisters>(wave, stopped != nullptr);
  registers.status = status;
  registers.trapsts = trapsts;
  registers.flat_scratch = wave.flat_scratch;
  put(registers);
}

// [the trap handlers, "ttmps"; ROCdbgapi src/architecture.cpp group_ids(), position_in_group()]
void save_trap_registers(const WorkGroup& group, const Wave& wave, const SaveOptions& options,
                         std::vector<u8>& bytes) {
  std::array<u32, 16> words;
  std::copy_n(wave.s.begin() + kTtmp0, words.size(), words.begin());
  if (options.trap_registers && wave.chip->generation < Generation::Gfx12) {
    for (usize i = 0; i < 3; ++i) words[8 + i] = group.place().id[i];
    words[11] = wave.wave_in_group;
  }
  append(bytes, words.data(), sizeof words);
}

u32 given_word(const Wave& wave, const WaveShape& shape) {
  if (wave.chip->generation == Generation::Gfx9)
    return encode(hw::RelaunchStateGfx9{
        .vgprs = static_cast<u8>((shape.vectors + shape.accumulators) / 8 - 1),
        .sgprs = static_cast<u8>(shape.scalars / 16),
        .lds_size = static_cast<u8>(shape.lds_units),
        .accum_offset = static_cast<u8>(shape.vectors / 4 - 1)})[0];
  const bool wave32 = wave.lanes == 32;
  return encode(hw::RelaunchState{.vgprs = static_cast<u8>(shape.vectors / (wave32 ? 8 : 4) - 1),
                                  .lds_size = static_cast<u8>(shape.lds_units),
                                  .wave32 = wave32})[0];
}

u32 wave_word(const Wave& wave, u32 slot, bool scratch, bool first, bool last) {
  if (wave.chip->generation == Generation::Gfx9)
    return encode(hw::RelaunchWaveGfx9{.scratch_slot = static_cast<u16>(slot & 0x1ff),
                                       .scratch = scratch,
                                       .last_wave = last,
                                       .first_wave = first})[0];
  return encode(hw::RelaunchWave{.scratch_slot = static_cast<u16>(slot & 0x3ff),
                                 .scratch = scratch,
                                 .first_wave = first,
                                 .last_wave = last})[0];
}

}  // namespace

void save_group(const WorkGroup& group, const Dispatch& dispatch, const SaveOptions& options,
                const std::optional<StoppedWave>& stopped, SavedContext& to) {
  std::vector<usize> alive;
  for (usize i = 0; i < group.waves(); ++i)
    if (group.member(i).state != WorkGroup::State::Ended) alive.push_back(i);
  if (alive.empty()) return;
  const WaveShape shape = shape_of(*group.member(alive[0]).wave);
  const bool gfx9 = group.member(alive[0]).wave->chip->generation == Generation::Gfx9;
  std::vector<u32> pushed;
  std::vector<u8> state;
  // Read backwards, the group's first wave comes first, after the description of the waves'
  // registers.
  for (usize i = alive.size(); i-- > 0;) {
    const WorkGroup::Member& member = group.member(alive[i]);
    const Wave& wave = *member.wave;
    const bool first = i == 0, last = i + 1 == alive.size();
    save_vectors(wave, shape, state);
    save_scalars(wave, shape, state);
    save_registers(member, stopped && stopped->wave == alive[i] ? &*stopped : nullptr, state);
    save_trap_registers(group, wave, options, state);
    if (first) {
      const usize start = state.size();
      if (wave.lds_bytes > 0) append(state, wave.lds, wave.lds_bytes);
      state.resize(start + shape.lds_bytes);
    }
    if (gfx9) state.resize(state.size() + hw::kSavedGapBytesGfx9);
    const u32 slot = group.place().scratch_slot + static_cast<u32>(alive[i]);
    pushed.push_back(wave_word(wave, slot, dispatch.scratch_wave_bytes > 0, first, last));
  }
  if (!gfx9) pushed.push_back(0);  // the second word of the description
  pushed.push_back(given_word(*group.member(alive[0]).wave, shape));
  if (!to.has_room(pushed.size(), state.size())) return;
  to.pushed.insert(to.pushed.end(), pushed.begin(), pushed.end());
  to.state.insert(to.state.end(), state.begin(), state.end());
}

}  // namespace doorbell::emu::amdgpu
