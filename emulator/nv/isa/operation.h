// Operation: an instruction as the interpreter executes it: decode() resolves operands to rows of
// 32 lanes, so that a handler is a loop over lanes.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/nv/isa/opcode.h"
#include "emulator/nv/isa/words.h"

namespace doorbell::emu::nvgpu {

constexpr u32 kLanes = 32;
constexpr u32 kAllLanes = ~u32{0};
// Rows of a warp: registers, of which 255 (RZ) is zero, and uniform registers, of which 63 is zero.
// Behind them the two halves of the register of return addresses (Rpc), which compilers also use
// for other values.
constexpr u32 kZero = 255, kUniformStart = 256, kUniformZero = 256 + 63, kRpc = 256 + 64,
              kRows = kRpc + 2;
// Masks of predicates: 7 (PT) is true; uniform ones from 8, of which 15 is true.
constexpr u32 kTrue = 7, kUniformPredicates = 8, kPredicates = 16;

using Row = std::array<u32, kLanes>;

struct Source {
  u32 constant = 0;          // immediates and constants: their number in the program, from 1
  u32 index = kZero;         // otherwise: row of the warp
  u32 keep = ~0u, flip = 0;  // bits that float modifiers keep and flip, of the highest word
  bool negative = false;     // integers: minus or complement
  u8 swizzle = 0;            // pairs of halves: 0 both, 2 the low one twice, 3 the high one twice
};

struct Operation {
  Handler handler = nullptr;
  const Opcode* opcode = nullptr;
  Words words;
  u32 offset = 0;  // of the instruction in the code
  u32 chip = 0;    // 86 of sm_86: some fields lie elsewhere from sm_90 on
  u32 form = 0;
  u32 guard = kTrue;
  bool guard_not = false;
  u32 dst = kZero;  // row
  Source a, x, e, b, c;
  u32 p = kTrue, q = kTrue;  // predicates of the result
  // Sources: predicate, complemented.
  u32 in_p = kTrue, in_q = kTrue, in_s = kTrue;
  bool not_p = false, not_q = false, not_s = false;
  bool has_uniform_dst = false;

  bool bit(unsigned n) const { return words.bit(n); }
  u32 field(unsigned from, unsigned count) const { return words.field(from, count); }
  // Whether bits 16 to 23 are the low byte of a branch's offset.
  bool has_split_target() const { return chip >= 90; }
};

// Of ATOMS: .POPC.INC, with bit 87 where the address has a uniform register [nvdisasm].
inline bool is_popc_inc(const Operation& op) { return op.field(88, 3) == 5; }

// The constant banks of a launch, by number; borrowed.
using Banks = std::map<u32, std::span<const u8>>;

// An operand that is the same in all lanes and launches, or in all lanes of a launch.
struct Constant {
  static constexpr u32 kImmediate = ~u32{0};
  u32 bank = kImmediate;
  u32 offset = 0, bytes = 0;  // in the bank
  u32 low = 0, high = 0;      // of an immediate
  u32 operation = 0;          // index of the operation that reads it
};

// A module's code as operations. Thread safety: constant after decode().
struct Program {
  u64 start = 0;  // address of the first instruction
  std::vector<Operation> operations;
  std::vector<Constant> constants;
};

// `code` is a multiple of 16 bytes, `chip` 86 of sm_86. Unknown instructions stop the warp that
// executes them.
Program decode(std::span<const u8> code, u64 start, u32 chip);

// The rows of a launch's constants, two words each: the low and the high one. `beyond` gets the
// indices of the operations that read beyond a bank.
std::vector<Row> read_constants(const Program& program, const Banks& banks,
                                std::vector<u32>* beyond);
// Operands only: constants are not resolved.
Operation decode_one(const Words& words, u32 offset, u32 chip);

// "@!P0 IMAD.WIDE R2, R4, R3, c[0x0][0x168]": as nvdisasm writes it, without the modifiers of the
// name and of operands that say how a value is used.
std::string text_of(const Operation& op);

}  // namespace doorbell::emu::nvgpu
