// What this CPU has, asked once.
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

bool has_fast_cpu() {
  static const bool kHas = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                           __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("f16c");
  return kHas;
}

}  // namespace doorbell::emu::nvgpu
