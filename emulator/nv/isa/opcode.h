// Opcode: a record of the table of instructions: number, name, operands and handler. One record
// per 9-bit number; the form (bits 9 to 11) says where an operand comes from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

struct Warp;
struct Operation;

enum class Flow : u8 {
  Next,      // the instruction that follows
  Jump,      // to Warp::pc, with Warp::active
  Schedule,  // the running lanes ended, wait or may wait: the warp chooses others
  Barrier,   // the running lanes are at a barrier of the block
  Stop,      // the warp broke a rule: Warp::fault
};
using Handler = Flow (*)(Warp&, const Operation&);

// An operand as the table writes it; the order is that of nvdisasm's text.
//   d         register of the result                    (bits 16 to 23)
//   a         first source                              (24 to 31)
//   x         the source at bits 32 to 63, by form
//   b, c      second and third source, whichever of bits 32 and 64 the form says
//   e         the source at bits 64 to 71
//   p, q      predicates of the result                  (81, 84)
//   P, Q, S   predicates of the sources                 (87, 77, 68)
//   g, s, l   address in global, shared, local memory;  k  in a constant bank
//   v, w      data to store                             (32, 64)
//   r         special register;  t  branch target;  B  convergence barrier (16)
//   L, M, N   lookup tables (72; 64 and 72; 16);  h  shift count (75);  i  immediate of 32 bits
//   A         PR, all predicates;  n  number of a barrier;  C  convergence barrier (24)
//   j         predicate that a barrier reduces
//   y, z      lane, and clamp and segments of a shuffle
//   u         predicate of the result (81) that .ANY lacks
//   G, H      shared and global address of a copy (16 and 44, 24 and 32)
//   D, E      scoreboard (44) and count (38)
//   Y, U      address of an mbarrier (24, uniform 64), and the uniform registers that it gets (32)
//   V, R, Z   of a bulk copy: where it writes (uniform 32) and reads (uniform 24), and its size
//             (64); of a tensor's, V is shared memory and coordinates, R the tensor map
//   I         what SYNCS returns: a state (16), or a predicate (81)
//   K, J, O   factors of a warp group's product; whether it adds (87) and what waits for it (84)
//   X         what WARPGROUP.DEPBAR waits for
//   F         half of Rpc, by bit 31
//   W, T      mask of WARPSYNC, and its target where it has one
// Behind it: 2, 4: as many registers; m: as many as the access has; f, n, h: modifiers of
// floats, of integers, of pairs of halves; ?: printed unless it is PT, RZ or URZ; x: with .X.
struct OperandSpec {
  char role = 0;
  char modifier = 0;
  u8 registers = 1;  // 0: those of the access
  bool optional = false;
};

enum OpcodeFlag : u8 {
  kUniform = 1,   // on uniform registers and predicates
  kVariable = 2,  // its time is not fixed: a scoreboard tells when its result is there
  kDouble = 4,    // an immediate is the upper half of a double
  kPairs = 8,     // an immediate is two halves
  kFloat = 16,    // an immediate is a float
  kHex = 32,      // an immediate is printed without a sign
};

struct Opcode {
  u16 number = 0;  // bits 0 to 8
  std::string_view name;
  std::string_view operands;
  u8 flags = 0;
  Handler handler = nullptr;
};

// Null where the number is unknown.
const Opcode* find_opcode(u32 number);
std::span<const Opcode> all_opcodes();
// Of the record with this index in all_opcodes().
const std::vector<OperandSpec>& operands_of(const Opcode& opcode);

}  // namespace doorbell::emu::nvgpu
