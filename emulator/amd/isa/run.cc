// The loop over blocks and their operations.
#include "emulator/amd/isa/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/number/host_float.h"

namespace doorbell::emu::amdgpu {

namespace {

// Scalar instructions are those whose names begin so.
bool is_vector(const Operation& op) { return !op.name.starts_with("S_"); }

Flow stop_beyond_registers(Wave& wave, const Operation& op) {
  const RegisterNeeds needs = register_needs(op);
  return stop_out_of_bounds(
      wave, op, Exit::Limit::Registers, 0, 0,
      fmt::format("{} vector, {} accumulation and {} scalar registers, the wave has {}, {} and {}",
                  needs.vgprs, needs.accumulators, needs.sgprs, wave.vgpr_count,
                  wave.accumulator_count, wave.sgpr_count),
      false);
}

// A wave without checks: VGPR0 replaces each vector register beyond its allocation, SGPR0 each
// scalar one. An instruction with such a VGPR as destination has no effect; such an SGPR is not
// written. Accumulation registers are not documented. [RDNA3 ISA 3.3.2.2, 3.3.3; CDNA3 ISA 3.6.1.
// VOPD, which takes the number modulo 4, is not distinguished.]
Flow run_beyond_registers(Wave& wave, const Operation& op) {
  const RegisterNeeds needs = register_needs(op);
  if (needs.within(wave)) return op.handler(wave, op);
  if (needs.accumulators > wave.accumulator_count) return stop_beyond_registers(wave, op);
  const u32 results = op.dst_row != 0 ? result_registers(op) : 0;
  if (results != 0 && op.dst + results > wave.vgpr_count) return Flow::Next;
  Operation moved = op;
  const auto is_beyond = [&](u32 index, u32 count) {
    return index < kAllocatedScalars && index + count > wave.sgpr_count;
  };
  if (const u32 scalars = scalar_result_registers(op); scalars != 0 && is_beyond(op.dst, scalars))
    moved.dst = kSink;
  // The first spare row may be in use (decode_vector.cc).
  u32 spare = wave.chip->vgprs + 1;
  for (usize i = 0; i < op.src.size(); ++i) {
    const u32 scalars = scalar_source_registers(op, i);
    if (scalars != 0 && is_beyond(op.src[i].index, scalars)) moved.src[i].index = 0;
    if (op.src[i].kind != Source::Kind::Vector) continue;
    const u32 first = op.src[i].index, count = source_registers(op, i);
    if (first + count <= wave.vgpr_count) continue;
    if (spare + count > wave.chip->vgprs + Wave::kSpareRows) return stop_beyond_registers(wave, op);
    moved.src[i].row = spare * wave.lanes;
    for (u32 row = 0; row < count; ++row) {
      const u32* from = wave.row(first + row < wave.vgpr_count ? first + row : 0);
      std::copy_n(from, wave.lanes, wave.row(spare++));
    }
  }
  return moved.handler(wave, moved);
}

// gfx9, after s_set_gpr_idx_on: M0's low byte is added to the numbers of the vector registers that
// the mode's bits name: 1 the first source, 2 the second, 4 the third, 8 the destination.
// [CDNA3 ISA, "VGPR indexing"]
Flow run_indexed(Wave& wave, const Operation& op) {
  if ((wave.index_mode & kSkipVectors) && is_vector(op)) return Flow::Next;
  Operation moved = op;
  const u32 offset = wave.s[kM0] & 0xff;
  for (u32 i = 0; i < 3; ++i) {
    Source& source = moved.src[i];
    if (!(wave.index_mode >> i & 1) || source.kind != Source::Kind::Vector) continue;
    source.index = static_cast<u16>(source.index + offset);
    source.row += offset * wave.lanes;
  }
  const Shape* shape = op.entry != nullptr ? &op.entry->shape : nullptr;
  const bool to_vector = shape != nullptr && shape->dst != Type::None &&
                         !(shape->flags & (kCompare | kScalarDst)) && op.name.starts_with("V_");
  if ((wave.index_mode & 8) && to_vector) {
    moved.dst = static_cast<u16>(moved.dst + offset);
    moved.dst_row += offset * wave.lanes;
  }
  if (register_needs(moved).within(wave)) return moved.handler(wave, moved);
  return wave.is_judged(Exit::Limit::Registers) ? stop_beyond_registers(wave, moved)
                                                : run_beyond_registers(wave, moved);
}

// Who is told of each operation: nobody.
struct NoCounter {
  void begin_block() {}
  void begin(const Operation&) {}
  void end() {}
};

// Of a block; `op` ends where it stopped.
template <class Counter>
Flow run_beyond_registers(Wave& wave, const Operation*& op, const Operation* end,
                          Counter& counter) {
  Flow flow = Flow::Next;
  for (; op != end; ++op) {
    counter.begin(*op);
    flow = wave.index_mode == 0 ? run_beyond_registers(wave, *op) : run_indexed(wave, *op);
    counter.end();
    if (flow != Flow::Next) break;
  }
  return flow;
}

// See run(); wave.memory is set.
template <class Counter>
Exit run_blocks(Wave& wave, Memory& memory, CodeCache& cache, u64 budget, Counter& counter) {
  HostFloatMode mode(wave);
  u64 executed = 0;
  do {
    const Block* block = cache.find(wave.pc, wave.lanes, memory);
    if (block == nullptr) {
      Exit exit{.kind = Exit::Kind::Fault, .pc = wave.pc, .address = wave.pc};
      exit.name = "instruction fetch";
      return exit;
    }
    const bool within = block->needs.within(wave);
    if (!within && wave.is_judged(Exit::Limit::Registers)) [[unlikely]]
      return beyond_registers(wave, *block);
    const Operation* op = block->operations.data();
    const Operation* const end = op + block->operations.size();
    Flow flow = Flow::Next;
    counter.begin_block();
    if (!within) [[unlikely]] {
      flow = run_beyond_registers(wave, op, end, counter);
    } else {
      for (; op != end; ++op) {
        counter.begin(*op);
        flow = wave.index_mode == 0 ? op->handler(wave, *op) : run_indexed(wave, *op);
        counter.end();
        if (flow != Flow::Next) [[unlikely]]
          break;
      }
    }
    const u64 done = static_cast<u64>(op - block->operations.data()) + (op != end ? 1 : 0);
    executed += done;
    wave.clock += done;
    if (flow == Flow::Stop) return wave.exit;
    if (flow == Flow::Next) wave.pc = block->end;
  } while (executed < budget);
  return {.kind = Exit::Kind::Budget, .pc = wave.pc};
}

}  // namespace

// Nothing of the block is executed.
Exit beyond_registers(Wave& wave, const Block& block) {
  const u64 pc = wave.pc;
  for (const Operation& op : block.operations) {
    if (register_needs(op).within(wave)) continue;
    stop_beyond_registers(wave, op);
    break;
  }
  wave.pc = pc;
  return wave.exit;
}

Flow run_one(Wave& wave, const Operation& op) {
  return wave.index_mode == 0 ? op.handler(wave, op) : run_indexed(wave, op);
}

Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget) {
  wave.memory = &memory;
  NoCounter nobody;
  return run_blocks(wave, memory, cache, budget, nobody);
}

Exit run_counted(Wave& wave, Memory& memory, CodeCache& cache, u64 budget, WaveCounter& counter) {
  wave.memory = &counter.begin(wave);
  return run_blocks(wave, memory, cache, budget, counter);
}

Exit run_judged(Wave& wave, Memory& memory, CodeCache& cache, u64 budget, const Judges& judges) {
  wave.memory = &memory;
  return run_blocks(wave, memory, cache, budget, judges);
}

}  // namespace doorbell::emu::amdgpu
