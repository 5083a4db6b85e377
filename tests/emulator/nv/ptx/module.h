// A kernel in PTX as the interpreter executes it: what parse() makes of text. For what executes it
// see machine.h.
#pragma once

#include <array>
#include <bitset>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "tests/emulator/nv/ptx/number.h"

namespace doorbell::ptx {

class Group;
struct Thread;
struct Instruction;

enum class Class : u8 { Bits, Unsigned, Signed, Float, Predicate };
struct Type {
  std::string_view name;
  Class of = Class::Bits;
  u32 bits = 0;  // of an element
  u32 lanes = 1;
  const Format* format = nullptr;  // of Class::Float

  u32 all_bits() const { return bits * lanes; }
  bool is_float() const { return of == Class::Float; }
  bool is_signed() const { return of == Class::Signed; }
};

// Parts of an instruction's name that are not types.
enum class Word : u8 {
  Unknown,
#define WORD(name, text) name,
#include "tests/emulator/nv/ptx/words.def"
  Count,
};

// Those that a thread reads of itself and its grid.
enum class Special : u8 {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  LaneMaskEq,
  LaneMaskLt,
  LaneMaskLe,
  LaneMaskGt,
  LaneMaskGe
};

enum class Space : u8 { Generic, Global, Shared, Local, Param };

struct Operand {
  enum class Kind : u8 { Register, Immediate, Special, Vector, Nothing };  // Nothing: `_`
  Kind kind = Kind::Nothing;
  bool is_not = false;  // of a predicate
  u32 index = 0;        // of the register; Special: which
  u64 value = 0;        // of the immediate, an address's offset
  std::vector<Operand> parts;
};

using Handler = void (*)(Thread&, const Instruction&);

struct Instruction {
  std::string text;
  std::string name;  // "mul" of mul.wide.u32
  Handler handler = nullptr;
  // For those that threads of a warp execute together: called once, in place of `handler`.
  void (*together)(Group&, const Instruction&) = nullptr;
  std::bitset<static_cast<usize>(Word::Count)> words;
  std::vector<Type> types;
  Rounding rounding = Rounding::Nearest;
  bool rounds_to_integer = false;
  Space space = Space::Generic;
  int guard = -1;  // register; -1: always executed
  bool guard_not = false;
  std::vector<Operand> operands;
  u32 pc = 0, target = 0;      // of a branch: an index
  u32 used_bytes = ~u32{0};    // of a load: a mask; the others need not be in memory
  std::array<u32, 3> shape{};  // m16n8k16

  bool has(Word word) const { return words[static_cast<usize>(word)]; }
  const Type& type() const { return types.front(); }
};

struct Kernel {
  std::string name;
  std::vector<u32> register_bits;         // of each register; 1: a predicate
  std::vector<Instruction> instructions;  // ends with a `ret`
  std::vector<u32> parameters;            // bytes of each, one after the other, aligned to its size
  u32 parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
  std::array<u32, 3> block{};  // .reqntid; zeros: any
};

// The only kernel of a module. Unsupported for what the interpreter lacks, by name.
Result<Kernel> parse(std::string_view text);

// "fma.rn.ftz.f32" to words, types, rounding and handler.
Result<void> read_name(std::string_view opcode, Instruction* instruction);

// The instructions of each file.
struct HandlerEntry {
  std::string_view name;
  Handler handler;
  void (*together)(Group&, const Instruction&) = nullptr;
};
std::vector<HandlerEntry> integer_handlers();
std::vector<HandlerEntry> bit_handlers();
std::vector<HandlerEntry> float_handlers();
std::vector<HandlerEntry> convert_handlers();
std::vector<HandlerEntry> memory_handlers();
std::vector<HandlerEntry> warp_handlers();
std::vector<HandlerEntry> matrix_handlers();
std::vector<HandlerEntry> warpgroup_handlers();

}  // namespace doorbell::ptx
