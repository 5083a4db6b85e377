// Walking the control stack and, in step with it, the waves' state from its end.
#include "drivers/amd/hw/saved_waves.h"

#include <cstring>

#include "base/util/try.h"

namespace doorbell::amd::hw {
namespace {

u32 load(std::span<const u8> bytes, usize at) {
  u32 value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
T record_at(std::span<const u8> bytes, usize at) {
  Words<T> words;
  std::memcpy(words.data(), bytes.data() + at, sizeof words);
  return decode<T>(words);
}

bool bit(u32 value, Bits place) { return extract(std::array{value}, place) != 0; }

// What waves were given, in bytes and registers.
struct Given {
  u32 lanes = 64;
  u32 vectors = 0, accumulators = 0, shared = 0;  // registers
  u32 scalars = 0;                                // registers
  u32 lds_bytes = 0;
  u32 gap = 0;

  u64 vector_bytes() const {
    return u64{vectors + accumulators} * lanes * 4 + u64{shared} * 32 * 4;
  }
};

struct Place {
  bool first = false, last = false;
};

Result<Given> given_of(Generation generation, u32 word, u32 lds_unit) {
  Given given;
  if (generation == Generation::Gfx9) {
    const auto state = decode<RelaunchStateGfx9>(std::array{word});
    const u32 all = (state.vgprs + 1u) * 8;
    given.vectors = (state.accum_offset + 1u) * 4;
    if (given.vectors > all)
      return fail(ErrorKind::Corrupt, "waves of {} vector registers, of which {} are ordinary", all,
                  given.vectors);
    given.accumulators = all - given.vectors;
    // The trap's 16 are saved elsewhere.
    given.scalars = state.sgprs * 16u;
    given.lds_bytes = state.lds_size * lds_unit;
    given.gap = kSavedGapBytesGfx9;
    return given;
  }
  const auto state = decode<RelaunchState>(std::array{word});
  given.lanes = state.wave32 ? 32 : 64;
  given.vectors = (state.vgprs + 1u) * (state.wave32 ? 8 : 4);
  given.shared = state.shared_vgprs * 8u;
  given.scalars = kSavedScalars;
  given.lds_bytes = state.lds_size * lds_unit;
  return given;
}

Place place_of(Generation generation, u32 word) {
  if (generation == Generation::Gfx9) {
    const auto wave = decode<RelaunchWaveGfx9>(std::array{word});
    return {wave.first_wave, wave.last_wave};
  }
  const auto wave = decode<RelaunchWave>(std::array{word});
  return {wave.first_wave, wave.last_wave};
}

template <class T>
void take_common(SavedWave& wave, const T& registers) {
  wave.pc = registers.pc;
  wave.exec = wave.lanes == 32 ? registers.exec & 0xffffffff : registers.exec;
  wave.mode = registers.mode;
  wave.m0 = registers.m0;
}

// Waves that halted themselves (S_SETHALT) have no exception and stay where they are.
void undo_rewind(SavedWave& wave) {
  if (wave.halted && (wave.memory_violation || wave.illegal_instruction))
    wave.pc += kHaltedPcRewind;
}

void read_registers(Generation generation, std::span<const u8> area, usize at, SavedWave& wave) {
  if (generation == Generation::Gfx12) {
    const auto registers = record_at<SavedRegistersGfx12>(area, at);
    take_common(wave, registers);
    wave.status = registers.state_priv;
    wave.trapsts = registers.excp_flag_priv;
    wave.halted = bit(wave.status, kStatePrivHalt);
    wave.memory_violation = bit(wave.trapsts, kExcpMemViol);
    wave.illegal_instruction = bit(wave.trapsts, kExcpIllegalInst);
    return undo_rewind(wave);
  }
  const auto take = [&](const auto& registers) {
    take_common(wave, registers);
    wave.status = registers.status;
    wave.trapsts = registers.trapsts;
  };
  if (generation == Generation::Gfx9)
    take(record_at<SavedRegistersGfx9>(area, at));
  else
    take(record_at<SavedRegisters>(area, at));
  wave.halted = bit(wave.status, kStatusHalt);
  wave.in_barrier = bit(wave.status, kStatusInBarrier);
  wave.memory_violation = bit(wave.trapsts, kTrapstsMemViol);
  wave.illegal_instruction = bit(wave.trapsts, kTrapstsIllegalInst);
  undo_rewind(wave);
}

// The state of one wave lies below `end`; returns where it begins.
Result<u64> read_wave(Generation generation, std::span<const u8> area, u64 begin, u64 end,
                      const Given& given, Place place, SavedWave& wave) {
  const u64 lds = place.first ? given.lds_bytes : 0;
  const u64 bytes = given.vector_bytes() + given.scalars * u64{4} + kSavedRegisterBytes +
                    kSavedTrapRegisterBytes + lds + given.gap;
  if (bytes > end - begin)
    return fail(ErrorKind::Corrupt, "a wave of {} bytes, {} are left of the waves' state", bytes,
                end - begin);
  u64 at = end - bytes;
  const u64 start = at;
  wave.lanes = given.lanes;
  wave.vector_count = given.vectors;
  wave.accumulator_count = given.accumulators;
  wave.first_of_group = place.first;
  wave.last_of_group = place.last;
  wave.vectors = area.subspan(at, given.vector_bytes());
  at += given.vector_bytes();
  wave.scalars = area.subspan(at, given.scalars * u64{4});
  at += given.scalars * u64{4};
  read_registers(generation, area, at, wave);
  at += kSavedRegisterBytes;
  for (usize i = 0; i < wave.trap_registers.size(); ++i)
    wave.trap_registers[i] = load(area, at + i * 4);
  at += kSavedTrapRegisterBytes;
  wave.lds = area.subspan(at, lds);
  return start;
}

Result<void> check_header(const ContextSaveHeader& header, usize bytes) {
  const u64 stack_end = u64{header.control_stack_offset} + header.control_stack_size;
  if (header.wave_state_size > header.wave_state_offset || header.wave_state_offset > bytes)
    return fail(ErrorKind::Corrupt, "{:#x} bytes of waves end at {:#x} of {:#x}",
                header.wave_state_size, header.wave_state_offset, bytes);
  const u64 begin = header.wave_state_offset - header.wave_state_size;
  if (stack_end != begin || header.control_stack_offset < sizeof(ContextSaveHeader))
    return fail(ErrorKind::Corrupt,
                "the control stack of {:#x} bytes at {:#x} does not end where the waves begin, at "
                "{:#x}",
                header.control_stack_size, header.control_stack_offset, begin);
  if (header.control_stack_size % 4 != 0)
    return fail(ErrorKind::Corrupt, "a control stack of {} bytes", header.control_stack_size);
  return {};
}

}  // namespace

std::array<u32, 3> SavedWave::group(Generation generation) const {
  const std::array<u32, 16>& t = trap_registers;
  if (generation != Generation::Gfx12) return {t[8], t[9], t[10]};
  return {t[9], t[7] & 0xffff, t[7] >> 16};
}

u32 SavedWave::position_in_group(Generation generation) const {
  return generation == Generation::Gfx12 ? trap_registers[8] >> 25 & 31 : trap_registers[11] & 63;
}

u32 SavedWave::scalar(usize index) const {
  return index * 4 < scalars.size() ? load(scalars, index * 4) : 0;
}

u32 SavedWave::vector(usize index, u32 lane) const {
  const usize at = (index * lanes + lane) * 4;
  return lane < lanes && at < vectors.size() ? load(vectors, at) : 0;
}

Result<std::vector<SavedWave>> read_saved_waves(Generation generation, std::span<const u8> area,
                                                u32 lds_unit) {
  std::vector<SavedWave> waves;
  if (area.size() < sizeof(ContextSaveHeader))
    return fail(ErrorKind::Corrupt, "a save area of {} bytes, its header has {}", area.size(),
                sizeof(ContextSaveHeader));
  ContextSaveHeader header;
  std::memcpy(&header, area.data(), sizeof header);
  if (header.control_stack_size == 0 && header.wave_state_size == 0) return waves;
  TRY(check_header(header, area.size()));
  const u64 begin = header.wave_state_offset - header.wave_state_size;
  u64 end = header.wave_state_offset;
  std::optional<Given> given;
  for (u64 at = header.control_stack_offset + kStackHeaderWords * u64{4}; at < begin; at += 4) {
    const u32 word = load(area, at);
    if (bit(word, kRelaunchIsEvent)) continue;
    if (bit(word, kRelaunchIsState)) {
      TRY(given, given_of(generation, word, lds_unit));
      if (generation != Generation::Gfx9) at += 4;
      continue;
    }
    if (!given)
      return fail(ErrorKind::Corrupt, "the control stack has wave {:#x} before what it was given",
                  word);
    SavedWave wave;
    TRY(end, read_wave(generation, area, begin, end, *given, place_of(generation, word), wave));
    waves.push_back(wave);
  }
  if (end != begin)
    return fail(ErrorKind::Corrupt, "{} bytes of waves that the control stack does not name",
                end - begin);
  return waves;
}

}  // namespace doorbell::amd::hw
