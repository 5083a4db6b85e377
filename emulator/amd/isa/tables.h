// The handler files' tables, one function each. Listed in handlers.cc.
#pragma once

#include "emulator/amd/isa/handlers.h"

namespace doorbell::emulator::amd {

HandlerTable buffer_memory_table();      // buffer_memory.cc
HandlerTable global_atomics_table();     // global_atomics.cc
HandlerTable global_memory_table();      // global_memory.cc
HandlerTable lds_atomics_table();        // lds_atomics.cc
HandlerTable lds_lanes_table();          // lds_lanes.cc
HandlerTable lds_memory_table();         // lds_memory.cc
HandlerTable matrix_table();             // matrix.cc
HandlerTable scratch_memory_table();     // scratch_memory.cc
HandlerTable scalar_arithmetic_table();  // scalar.cc
HandlerTable scalar_bits_table();
HandlerTable scalar_moves_table();
HandlerTable scalar_compare_table();
HandlerTable scalar_constant_table();
HandlerTable scalar_control_table();  // scalar_control.cc
HandlerTable scalar_exec_table();     // scalar_exec.cc

}  // namespace doorbell::emulator::amd
