// Operands whose undefined bits are a use by themselves: addresses, and registers that select
// registers or lanes. For uses by EXEC or the program counter see twin.cc.
#pragma once

#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

// What an undefined value determines.
enum class Use : u8 {
  Address,  // where memory, LDS or scratch is accessed
  Branch,   // where the wave goes on
  Lanes,    // EXEC
  Operand,  // which register or lane, a message, a mode
};

struct OperandUses {
  u8 vector_rows = 0;       // registers of src[kAddress] that are an address
  bool lower_half = false;  // only lanes 0 to 31 have one
  u8 address_words = 0;     // scalar registers of `scalar` that are one
  u8 scalar = 0;            // which source
  u8 offset = 0;            // one more than which source is a scalar offset; 0: none
  bool m0_address = false;
  bool m0_operand = false;
  bool lane = false;        // src[1] chooses a lane
  bool first_lane = false;  // src[kAddress] of the first active lane goes to a counter
  bool value = false;       // src[0] goes to a hardware register
  bool vcc_branch = false;
  // Not uses: further properties that the twin needs.
  bool lds = false;       // loads come from LDS
  u16 vector_dst = 0;     // vector registers that it writes
  bool compares = false;  // a mask of the VALU's, or SCC
  bool reads_scc = false;
  bool elsewhere = false;  // it writes vector registers besides
};
OperandUses operand_uses(const Operation& op);

}  // namespace doorbell::emu::amdgpu
