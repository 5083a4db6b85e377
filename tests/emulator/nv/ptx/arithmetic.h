// Instructions that have one name for integers and floats: integer.cc decides by the type.
#pragma once

#include "tests/emulator/nv/ptx/module.h"

namespace doorbell::ptx {

void add_floats(Thread& t, const Instruction& op);
void subtract_floats(Thread& t, const Instruction& op);
void multiply_floats(Thread& t, const Instruction& op);
void fma_floats(Thread& t, const Instruction& op);
void divide_floats(Thread& t, const Instruction& op);
void abs_floats(Thread& t, const Instruction& op);
void neg_floats(Thread& t, const Instruction& op);
void min_floats(Thread& t, const Instruction& op);
void max_floats(Thread& t, const Instruction& op);

// Sources by the type, after .ftz, and a result before it is rounded, in the type's bits.
Number number_of(u64 bits, const Instruction& op, const Type& type);
u64 bits_of(Number number, const Instruction& op, const Type& type);
// A result as .sat has it, between zero and one.
u64 saturated(u64 bits, const Type& type);

}  // namespace doorbell::ptx
