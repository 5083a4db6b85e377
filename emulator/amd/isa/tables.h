// The handler files' tables, one function each. Listed in handlers.cc.
#pragma once

#include "emulator/amd/isa/handlers.h"

namespace doorbell::emulator::amd {

HandlerTable scalar_arithmetic_table();  // scalar.cc
HandlerTable scalar_bits_table();
HandlerTable scalar_moves_table();
HandlerTable scalar_compare_table();
HandlerTable scalar_constant_table();
HandlerTable scalar_control_table();  // scalar_control.cc
HandlerTable scalar_exec_table();     // scalar_exec.cc

}  // namespace doorbell::emulator::amd
