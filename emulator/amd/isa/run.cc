// The loop over blocks and their operations.
#include "emulator/amd/isa/run.h"

#include "emulator/amd/isa/host_float.h"

namespace doorbell::emulator::amd {

namespace {

// Scalar instructions are those whose names begin so.
bool is_vector(const Operation& op) { return !op.name.starts_with("S_"); }

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
  if (!register_needs(moved).within(wave.vgpr_count, wave.accumulator_count)) {
    wave.exit = {.kind = Exit::Kind::Bounds, .pc = op.pc};
    wave.exit.name = fmt::format("{} with index {}", op.name, offset);
    wave.pc = op.pc;
    return Flow::Stop;
  }
  return moved.handler(wave, moved);
}

}  // namespace

// Nothing of the block is executed.
Exit beyond_registers(const Wave& wave, const Block& block) {
  for (const Operation& op : block.operations) {
    const RegisterNeeds needs = register_needs(op);
    if (needs.within(wave.vgpr_count, wave.accumulator_count)) continue;
    Exit exit{.kind = Exit::Kind::Bounds, .pc = op.pc};
    exit.name =
        fmt::format("{}: {} vector and {} accumulation registers, the wave has {} and {}", op.name,
                    needs.vgprs, needs.accumulators, wave.vgpr_count, wave.accumulator_count);
    return exit;
  }
  return {.kind = Exit::Kind::Bounds, .pc = block.pc};
}

Flow run_one(Wave& wave, const Operation& op) {
  return wave.index_mode == 0 ? op.handler(wave, op) : run_indexed(wave, op);
}

Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget) {
  wave.memory = &memory;
  HostFloatMode mode(wave);
  u64 executed = 0;
  do {
    const Block* block = cache.find(wave.pc, wave.lanes, memory);
    if (block == nullptr) {
      Exit exit{.kind = Exit::Kind::Fault, .pc = wave.pc, .address = wave.pc};
      exit.name = "instruction fetch";
      return exit;
    }
    if (!block->needs.within(wave.vgpr_count, wave.accumulator_count)) [[unlikely]]
      return beyond_registers(wave, *block);
    const Operation* op = block->operations.data();
    const Operation* const end = op + block->operations.size();
    Flow flow = Flow::Next;
    for (; op != end; ++op) {
      flow = wave.index_mode == 0 ? op->handler(wave, *op) : run_indexed(wave, *op);
      if (flow != Flow::Next) [[unlikely]]
        break;
    }
    const u64 done = static_cast<u64>(op - block->operations.data()) + (op != end ? 1 : 0);
    executed += done;
    wave.clock += done;
    if (flow == Flow::Stop) return wave.exit;
    if (flow == Flow::Next) wave.pc = block->end;
  } while (executed < budget);
  return {.kind = Exit::Kind::Budget, .pc = wave.pc};
}

}  // namespace doorbell::emulator::amd
