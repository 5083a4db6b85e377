// The handler files' tables, one function each. Listed in handlers.cc.
#pragma once

#include "emulator/amd/isa/handlers.h"

namespace doorbell::emu::amdgpu {

HandlerTable buffer_memory_table();  // buffer_memory.cc
HandlerTable buffer_operations_table();
HandlerTable global_atomics_table();  // global_atomics.cc
HandlerTable global_memory_table();   // global_memory.cc
HandlerTable flat_memory_table();
HandlerTable global_thread_id_table();
HandlerTable hardware_registers_table();  // hardware_registers.cc
HandlerTable lds_atomics_table();         // lds_atomics.cc
HandlerTable lds_lanes_table();           // lds_lanes.cc
HandlerTable lds_memory_table();          // lds_memory.cc
HandlerTable matrix_table();              // matrix.cc
HandlerTable vector_bitop_table();        // vector_bitop.cc
HandlerTable scratch_memory_table();      // scratch_memory.cc
HandlerTable scalar_arithmetic_table();   // scalar.cc
HandlerTable scalar_bits_table();
HandlerTable scalar_moves_table();
HandlerTable scalar_compare_table();
HandlerTable scalar_constant_table();
HandlerTable scalar_float_table();  // scalar_float.cc
HandlerTable scalar_float_compare_table();
HandlerTable scalar_atomics_table();         // scalar_atomics.cc
HandlerTable memory_blocks_table();          // memory_blocks.cc
HandlerTable scalar_memory_table();          // scalar_memory.cc
HandlerTable scalar_control_table();         // scalar_control.cc
HandlerTable scalar_exec_table();            // scalar_exec.cc
HandlerTable vector_f32_arithmetic_table();  // vector_float.cc
HandlerTable vector_f32_selection_table();
HandlerTable vector_f32_unary_table();
HandlerTable vector_f32_division_table();
HandlerTable vector_f32_division_end_table();
HandlerTable vector_f64_table();  // vector_double.cc
HandlerTable vector_f64_division_end_table();
HandlerTable vector_f16_arithmetic_table();  // vector_half.cc
HandlerTable vector_f16_selection_table();
HandlerTable vector_f16_unary_table();
HandlerTable vector_compare_floats_table();  // vector_compare.cc
HandlerTable vector_compare_integers_table();
HandlerTable vector_u32_arithmetic_table();  // vector_integer.cc
HandlerTable vector_u32_selection_table();
HandlerTable vector_u32_bits_table();
HandlerTable vector_u32_differences_table();
HandlerTable vector_carries_table();
HandlerTable vector_u16_table();            // vector_short.cc
HandlerTable vector_packed_floats_table();  // vector_packed.cc
HandlerTable vector_packed_integers_table();
HandlerTable vector_dots_table();       // vector_dots.cc
HandlerTable transposed_loads_table();  // transposed_loads.cc
HandlerTable typed_buffers_table();     // typed_buffers.cc
HandlerTable vector_segments_table();   // vector_segments.cc
HandlerTable vector_lane_table();       // vector_lane.cc
HandlerTable wave_sync_table();         // wave_sync.cc
HandlerTable vector_convert_table();    // vector_convert.cc
HandlerTable vector_convert_packed_table();
HandlerTable vector_convert_bytes_table();
HandlerTable vector_convert_scaled_table();  // vector_convert_scaled.cc

}  // namespace doorbell::emu::amdgpu
