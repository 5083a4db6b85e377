// Registers, local memory and the hardware's own limit, whichever is the least.
#include "codegen/opt/occupancy.h"

#include <algorithm>

namespace doorbell::codegen {

namespace {

constexpr f64 kMemoryCycles = 600;  // until a load from global memory is back, about

i64 round_up(i64 n, i64 step) { return (n + step - 1) / step * step; }

}  // namespace

f64 waves_of_simd(const Caps& caps, const Demand& demand) {
  const Caps::Simd& simd = caps.simd;
  if (simd.waves == 0) return 0;
  i64 waves = simd.waves;
  const i64 registers = round_up(std::max<i64>(demand.registers, 1), simd.register_granule);
  waves = std::min(waves, std::max<i64>(1, simd.registers / registers));
  // Whole groups, spread over the SIMDs that share the memory.
  const i64 of_group = round_up(demand.items, simd.wave_items) / simd.wave_items;
  f64 most = static_cast<f64>(waves);
  if (demand.local_bytes > 0) {
    const i64 of_each = demand.local_bytes + simd.local_reserved;
    const i64 groups = std::max<i64>(1, simd.local_bytes / of_each);
    most = std::min(most, static_cast<f64>(groups * of_group) / static_cast<f64>(simd.sharing));
  }
  const i64 groups = std::max<i64>(1, waves * simd.sharing / of_group);
  return std::min(most, static_cast<f64>(groups * of_group) / static_cast<f64>(simd.sharing));
}

i64 item_registers(const KernelInfo& info, const Caps& caps, const Plan& plan) {
  constexpr f64 kAddresses = 24;
  f64 registers = kAddresses;
  for (const Access& a : info.accesses) {
    const core::DType t = a.memory.dtype().element();
    // Two halves share a register where the target computes with them; else they are widened.
    const bool halves = t.bits() == 16 && t.is_float() && caps.has(t);
    f64 values = halves ? 0.5 : t.bits() > 32 ? 2 : 1;
    for (const Opt& o : plan) {
      const bool at_once = o.op == OptOp::Vector || o.op == OptOp::Upcast || o.op == OptOp::Unroll;
      if (at_once && a.mask >> o.axis & 1) values *= static_cast<f64>(o.amount);
    }
    registers += values;
  }
  return static_cast<i64>(registers);
}

bool is_crowded(const Caps& caps, const Demand& demand) {
  if (caps.simd.waves == 0) return false;
  // Leaves a third for what this does not count: parts of conversions, values computed early.
  if (demand.registers > caps.simd.max_registers * 2 / 3) return true;
  return waves_of_simd(caps, demand) < static_cast<f64>(caps.simd.waves) / 4;
}

f64 stall_factor(const Caps& caps, f64 waves, f64 work) {
  if (waves <= 0 || work <= 0) return 1;
  const f64 cycles =
      work * static_cast<f64>(caps.simd.wave_items) / static_cast<f64>(caps.simd.lanes_per_cycle);
  const f64 others = std::max(0.0, waves - 1) * cycles;
  return 1 + std::max(0.0, kMemoryCycles - others) / (std::max(1.0, waves) * cycles);
}

}  // namespace doorbell::codegen
