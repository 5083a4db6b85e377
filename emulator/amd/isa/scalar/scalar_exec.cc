// Scalar instructions that read or write EXEC and M0-relative registers, and special operands.
// [RDNA3 and CDNA3 ISA documents, chapter "Instructions", SOP1]
#include "base/util/check.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

bool is_special_value(u32 code) {
  return (code >= 235 && code <= 238) || (code >= 251 && code <= 253);
}
u64 special_value(const Wave& wave, u32 code) {
  switch (code) {
    // 32-bit reads give the low half, which is 0: code takes the high half of a 64-bit read.
    case 235: return wave.shared_aperture;
    case 236: return wave.shared_aperture | 0xffffffff;
    case 237: return wave.private_aperture;
    case 238: return wave.private_aperture | 0xffffffff;
    case 251: return wave.vcc() == 0 ? 1 : 0;
    case 252: return wave.exec() == 0 ? 1 : 0;
    case 253: return wave.scc;
    default: UNREACHABLE("source operand {}", code);
  }
}

namespace {

// D = EXEC; EXEC = F(S0, EXEC); SCC = EXEC != 0
template <class T, auto F>
Flow save_exec(Wave& wave, const Operation& op) {
  const T source = read_scalar<T>(wave, op.src[0]);
  const T before = sizeof(T) == 8 ? static_cast<T>(wave.pair(kExecLo)) : wave.s[kExecLo];
  write_scalar<T>(wave, op.dst, before);
  const T after = static_cast<T>(F(source, before));
  write_scalar<T>(wave, kExecLo, after);
  wave.scc = after != 0 ? 1 : 0;
  return Flow::Next;
}
// EXEC = F(S0, EXEC); D = EXEC; SCC = EXEC != 0
template <class T, auto F>
Flow write_exec(Wave& wave, const Operation& op) {
  const T source = read_scalar<T>(wave, op.src[0]);
  const T before = sizeof(T) == 8 ? static_cast<T>(wave.pair(kExecLo)) : wave.s[kExecLo];
  const T after = static_cast<T>(F(source, before));
  write_scalar<T>(wave, kExecLo, after);
  write_scalar<T>(wave, op.dst, after);
  wave.scc = after != 0 ? 1 : 0;
  return Flow::Next;
}

template <class T>
constexpr Shape kMaskShape{type_of<T>(), {type_of<T>()}, 0};

template <auto F>
constexpr Entry save_32(std::string_view name) {
  return {name, kMaskShape<u32>, &save_exec<u32, F>};
}
template <auto F>
constexpr Entry save_64(std::string_view name) {
  return {name, kMaskShape<u64>, &save_exec<u64, F>};
}

constexpr auto kAnd = [](auto s, auto e) { return s & e; };
constexpr auto kOr = [](auto s, auto e) { return s | e; };
constexpr auto kXor = [](auto s, auto e) { return s ^ e; };
constexpr auto kNand = [](auto s, auto e) { return ~(s & e); };
constexpr auto kNor = [](auto s, auto e) { return ~(s | e); };
constexpr auto kXnor = [](auto s, auto e) { return ~(s ^ e); };
constexpr auto kAndNot1 = [](auto s, auto e) { return ~s & e; };
constexpr auto kAndNot2 = [](auto s, auto e) { return s & ~e; };
constexpr auto kOrNot1 = [](auto s, auto e) { return ~s | e; };
constexpr auto kOrNot2 = [](auto s, auto e) { return s | ~e; };

// Registers named relative to M0, by a sum of 32 bits.
template <class T>
bool is_scalar_register(u32 index) {
  return index <= kVccLo - sizeof(T) / 4;
}
template <class T>
Flow move_from_relative(Wave& wave, const Operation& op) {
  const u32 index = op.src[0].index + wave.s[kM0];
  T value{};
  if (is_scalar_register<T>(index))
    value = sizeof(T) == 8 ? static_cast<T>(wave.pair(index)) : wave.s[index];
  write_scalar<T>(wave, op.dst, value);
  return Flow::Next;
}
template <class T>
Flow move_to_relative(Wave& wave, const Operation& op) {
  const u32 index = op.dst + wave.s[kM0];
  if (!is_scalar_register<T>(index)) return Flow::Next;
  write_scalar<T>(wave, static_cast<u16>(index), read_scalar<T>(wave, op.src[0]));
  return Flow::Next;
}
// Bits 9 to 0 of M0 move the source, bits 25 to 16 the destination.
Flow move_relative_both(Wave& wave, const Operation& op) {
  const u32 from = op.src[0].index + (wave.s[kM0] & 0x3ff);
  const u32 to = op.dst + (wave.s[kM0] >> 16 & 0x3ff);
  if (from < kVccLo && to < kVccLo) wave.s[to] = wave.s[from];
  return Flow::Next;
}

constexpr Entry kTable[] = {
    save_32<kAnd>("S_AND_SAVEEXEC_B32"),
    save_64<kAnd>("S_AND_SAVEEXEC_B64"),
    save_32<kOr>("S_OR_SAVEEXEC_B32"),
    save_64<kOr>("S_OR_SAVEEXEC_B64"),
    save_32<kXor>("S_XOR_SAVEEXEC_B32"),
    save_64<kXor>("S_XOR_SAVEEXEC_B64"),
    save_32<kNand>("S_NAND_SAVEEXEC_B32"),
    save_64<kNand>("S_NAND_SAVEEXEC_B64"),
    save_32<kNor>("S_NOR_SAVEEXEC_B32"),
    save_64<kNor>("S_NOR_SAVEEXEC_B64"),
    save_32<kXnor>("S_XNOR_SAVEEXEC_B32"),
    save_64<kXnor>("S_XNOR_SAVEEXEC_B64"),
    save_32<kAndNot1>("S_ANDN1_SAVEEXEC_B32"),
    save_64<kAndNot1>("S_ANDN1_SAVEEXEC_B64"),
    save_32<kAndNot2>("S_ANDN2_SAVEEXEC_B32"),
    save_64<kAndNot2>("S_ANDN2_SAVEEXEC_B64"),
    save_32<kOrNot1>("S_ORN1_SAVEEXEC_B32"),
    save_64<kOrNot1>("S_ORN1_SAVEEXEC_B64"),
    save_32<kOrNot2>("S_ORN2_SAVEEXEC_B32"),
    save_64<kOrNot2>("S_ORN2_SAVEEXEC_B64"),
    {"S_ANDN1_WREXEC_B32", kMaskShape<u32>, &write_exec<u32, kAndNot1>},
    {"S_ANDN1_WREXEC_B64", kMaskShape<u64>, &write_exec<u64, kAndNot1>},
    {"S_ANDN2_WREXEC_B32", kMaskShape<u32>, &write_exec<u32, kAndNot2>},
    {"S_ANDN2_WREXEC_B64", kMaskShape<u64>, &write_exec<u64, kAndNot2>},
    {"S_MOVRELS_B32", kMaskShape<u32>, &move_from_relative<u32>},
    {"S_MOVRELS_B64", kMaskShape<u64>, &move_from_relative<u64>},
    {"S_MOVRELD_B32", kMaskShape<u32>, &move_to_relative<u32>},
    {"S_MOVRELD_B64", kMaskShape<u64>, &move_to_relative<u64>},
    {"S_MOVRELSD_2_B32", kMaskShape<u32>, &move_relative_both},
};

}  // namespace

HandlerTable scalar_exec_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
