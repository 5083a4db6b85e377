// The loop over blocks and their operations. It is the same for all memory policies: the handlers
// of memory instructions know theirs.
#include "emulator/amd/isa/run.h"

#include "emulator/amd/isa/host_float.h"

namespace doorbell::emulator::amd::detail {

namespace {

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

}  // namespace

Exit run(Wave& wave, CodeCache& cache, CodeReader& reader, u64 budget) {
  HostFloatMode mode(wave);
  u64 executed = 0;
  do {
    const Block* block = cache.find(wave.pc, wave.lanes, reader);
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
      flow = op->handler(wave, *op);
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

}  // namespace doorbell::emulator::amd::detail
