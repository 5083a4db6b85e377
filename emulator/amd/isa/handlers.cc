// The list of tables, and the set made from them.
#include "emulator/amd/isa/handlers.h"

#include "base/util/check.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

bool cpu_is_fast() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
}

std::span<const HandlerTable> all_tables() {
  static const HandlerTable tables[] = {
      buffer_memory_table(),
      buffer_operations_table(),
      global_atomics_table(),
      global_memory_table(),
      flat_memory_table(),
      global_thread_id_table(),
      hardware_registers_table(),
      lds_atomics_table(),
      lds_lanes_table(),
      lds_memory_table(),
      matrix_table(),
      vector_bitop_table(),
      scratch_memory_table(),
      scalar_arithmetic_table(),
      scalar_bits_table(),
      scalar_moves_table(),
      scalar_compare_table(),
      scalar_constant_table(),
      scalar_float_table(),
      scalar_float_compare_table(),
      scalar_memory_table(),
      scalar_atomics_table(),
      memory_blocks_table(),
      scalar_control_table(),
      scalar_exec_table(),
      vector_f32_arithmetic_table(),
      vector_f32_selection_table(),
      vector_f32_unary_table(),
      vector_f32_division_table(),
      vector_f32_division_end_table(),
      vector_f64_table(),
      vector_f64_division_end_table(),
      vector_f16_arithmetic_table(),
      vector_f16_selection_table(),
      vector_f16_unary_table(),
      vector_compare_floats_table(),
      vector_compare_integers_table(),
      vector_u32_arithmetic_table(),
      vector_u32_selection_table(),
      vector_u32_bits_table(),
      vector_u32_differences_table(),
      vector_carries_table(),
      vector_u16_table(),
      vector_packed_floats_table(),
      vector_packed_integers_table(),
      vector_dots_table(),
      transposed_loads_table(),
      typed_buffers_table(),
      vector_segments_table(),
      vector_lane_table(),
      vector_convert_table(),
      vector_convert_packed_table(),
      vector_convert_bytes_table(),
      vector_convert_scaled_table(),
      wave_sync_table(),
  };
  return tables;
}

}  // namespace

HandlerSet::HandlerSet() : fast_(cpu_is_fast()) {
  for (HandlerTable table : all_tables()) add(table);
}

void HandlerSet::add(HandlerTable table) {
  for (const Entry& entry : table) {
    CHECK(entries_.emplace(entry.name, &entry).second, "two handlers for {}", entry.name);
  }
}

const HandlerSet& handler_set() {
  static const HandlerSet set;
  return set;
}

}  // namespace doorbell::emu::amdgpu
