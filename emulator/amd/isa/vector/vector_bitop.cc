// V_BITOP3: any function of three bits, by its truth table (gfx950). The table's eight bits are in
// the fields abs, omod and neg of other instructions. [LLVM VOP3Instructions.td, VOP3_BITOP3;
// CDNA4 ISA, V_BITOP3_B32]
#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/tables.h"
#include "emulator/amd/isa/vector/vector_op.h"

namespace doorbell::emu::amdgpu {

namespace {

// Bit 4 a + 2 b + c of the table, for each bit of the operands.
u32 look_up(u32 table, u32 a, u32 b, u32 c) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 match = ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
    result |= (table >> i & 1) != 0 ? match : 0;
  }
  return result;
}

template <Type kType>
Flow bitop(Wave& wave, const Operation& op) {
  const u32 low = op.words[0], high = op.words[1];
  const u32 table = field(high, 31, 29) | field(low, 10, 8) << 3 | field(high, 28, 27) << 6;
  alignas(64) u32 operands[3][2 * kMaxLanes];
  for (u32 k = 0; k < 3; ++k) prepare_operand(wave, op, k, kType, operands[k]);
  alignas(64) u32 results[kMaxLanes];
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    results[lane] = look_up(table, operands[0][lane], operands[1][lane], operands[2][lane]);
    if (kType == Type::B16) results[lane] &= 0xffff;
  }
  const u64 active = active_lanes(wave, op);
  for (u32 base = 0; base < wave.lanes; base += kStep) {
    store_result(wave, op, kType, results + base, results + base, base,
                 static_cast<u32>(active >> base));
  }
  return Flow::Next;
}

constexpr Shape shape(Type type) { return {type, {type, type, type}, kNoModifiers}; }

constexpr Entry kTable[] = {
    {"V_BITOP3_B32", shape(Type::B32), &bitop<Type::B32>},
    {"V_BITOP3_B16", shape(Type::B16), &bitop<Type::B16>},
};

}  // namespace

HandlerTable vector_bitop_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
