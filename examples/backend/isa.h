// The instruction set of Abacus, the accelerator of docs/adding-a-backend.md: one core, 64-bit
// registers, byte-addressed memory of its own. For their execution see chip.cc, for their text
// assembler.cc.
//
// A register holds an integer sign- or zero-extended to 64 bits, a bool as 0 or 1, an f32 as its
// bits. Every arithmetic instruction names the type that it works on.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::abacus {

// OPCODE(name, operands, sentence). The operands in the text's order: d destination, a b c source
// registers; t the type; f the type converted from; i an immediate; l a label.
#define ABACUS_OPCODES(OPCODE)                                          \
  OPCODE(li, "di", "d = the 64 bits i")                                 \
  OPCODE(arg, "di", "d = the address of buffer i")                      \
  OPCODE(var, "di", "d = variable i of the launch")                     \
  OPCODE(ld, "tda", "d = memory at address a")                          \
  OPCODE(st, "tab", "memory at address a = b")                          \
  OPCODE(mov, "da", "d = a")                                            \
  OPCODE(jmp, "l", "go on at l")                                        \
  OPCODE(jge, "abl", "go on at l if a >= b, as signed integers")        \
  OPCODE(cast, "tfda", "d = a converted; floats truncate and saturate") \
  OPCODE(bits, "tda", "d = the same bits as another type")              \
  OPCODE(sqrt, "tda", "d = square root of a")                           \
  OPCODE(add, "tdab", "d = a + b")                                      \
  OPCODE(sub, "tdab", "d = a - b")                                      \
  OPCODE(mul, "tdab", "d = a * b")                                      \
  OPCODE(fdiv, "tdab", "d = a / b, of floats")                          \
  OPCODE(cdiv, "tdab", "d = a / b towards zero, of integers; 0 by 0")   \
  OPCODE(lt, "tdab", "d = a < b")                                       \
  OPCODE(ne, "tdab", "d = a != b")                                      \
  OPCODE(and_, "tdab", "d = a & b")                                     \
  OPCODE(or_, "tdab", "d = a | b")                                      \
  OPCODE(xor_, "tdab", "d = a ^ b")                                     \
  OPCODE(shl, "tdab", "d = a << b; 0 beyond the width")                 \
  OPCODE(shr, "tdab", "d = a >> b; the sign or 0 beyond the width")     \
  OPCODE(sel, "dabc", "d = a ? b : c")                                  \
  OPCODE(halt, "", "the end")

enum class Opcode : u8 {
#define ABACUS_ENUM(name, operands, sentence) name,
  ABACUS_OPCODES(ABACUS_ENUM)
#undef ABACUS_ENUM
};
#define ABACUS_COUNT(name, operands, sentence) +1
inline constexpr int kOpcodeCount = 0 ABACUS_OPCODES(ABACUS_COUNT);
#undef ABACUS_COUNT

// The types, in the order of their numbers. No f64: kernels that need it are an error. Doorbell's
// code generator stores narrow floats as integers and computes them in f32.
enum class Type : u8 { b, i8, u8, i16, u16, i32, u32, i64, u64, f32 };
inline constexpr int kTypeCount = 10;

// An instruction in memory. A label is the number of an instruction, in c.
struct Instruction {
  Opcode opcode;
  Type type;
  Type from;
  u8 zero;
  u32 d, a, b, c;  // li: i is a (low) and b (high); arg, var: i is a
};
static_assert(sizeof(Instruction) == 20);

// The beginning of an image; instructions follow.
struct ImageHeader {
  u32 magic;
  u32 registers;  // how many the program uses
  u32 instructions;
};
inline constexpr u32 kImageMagic = 0x43424131;  // "1ABC"

// "add" and "tdab" of an opcode; "f32" of a type.
std::string_view name_of(Opcode opcode);
std::string_view operands_of(Opcode opcode);
std::string_view name_of(Type type);

struct Code {
  u32 registers = 0;
  std::vector<Instruction> instructions;
};
// Fails unless every opcode, type, register and label of the image is valid.
Result<Code> decode(std::span<const u8> image);

}  // namespace doorbell::abacus
