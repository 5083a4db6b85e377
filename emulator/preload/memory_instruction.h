// An x86-64 instruction that loads from memory, stores to it or compares with it: what a compiler
// makes of an access to a register of a device. Decoding alone; whoever carries it out has the
// registers.
// [AMD64 Architecture Programmer's Manual, volume 3: chapter 1, "Instruction Encoding",
// and the pages of MOV, MOVSX, MOVSXD, MOVZX, CMP and TEST]
#pragma once

#include <optional>
#include <span>

#include "base/util/types.h"

namespace doorbell::emu {

struct MemoryInstruction {
  enum class Kind : u8 {
    Load,          // register = memory, extended to `register_bytes`
    Store,         // memory = register or immediate
    CompareLeft,   // flags of memory - other
    CompareRight,  // flags of other - memory
    Test,          // flags of memory & other
  };
  Kind kind = Kind::Load;
  unsigned bytes = 0;                 // of memory
  unsigned register_bytes = 0;        // of a load's target; 4 clears the upper half
  bool is_signed = false;             // how a load is extended
  unsigned reg = 0;                   // 0 rax, 1 rcx, .. 15 r15
  bool is_high = false;               // its second byte: ah, ch, dh, bh
  std::optional<u64> immediate = {};  // instead of the register
  unsigned length = 0;
};

// Of the instruction at the beginning; empty: it is none of these, or of a form that compilers do
// not use for registers of devices (with a lock, a string, vectors).
std::optional<MemoryInstruction> decode_memory_instruction(std::span<const u8> code);

}  // namespace doorbell::emu
