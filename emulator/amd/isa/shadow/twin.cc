// The loop over a wave's and its twin's instructions.
#include "emulator/amd/isa/shadow/twin.h"

#include <fmt/format.h>

#include <bit>
#include <optional>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/run.h"
#include "emulator/amd/isa/shadow/twin_trial.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr u32 kFirstAccumulator = 256;

bool row_differs(const Wave& a, const Wave& b, u32 index) {
  const usize at = usize{index} * a.lanes;
  return std::memcmp(a.v + at, b.v + at, a.lanes * sizeof(u32)) != 0;
}

std::string scalar_name(u32 index) {
  switch (index) {
    case kVccLo: return "vcc_lo";
    case kVccHi: return "vcc_hi";
    case kM0: return "m0";
    case kExecLo: return "exec_lo";
    case kExecHi: return "exec_hi";
    default:
      return index >= kTtmp0 && index < kM0 ? fmt::format("ttmp{}", index - kTtmp0)
                                            : fmt::format("s{}", index);
  }
}
std::string vector_name(u32 index) {
  return index < kFirstAccumulator ? fmt::format("v{}", index)
                                   : fmt::format("a{}", index - kFirstAccumulator);
}

// One instruction of both.
class Step {
 public:
  Step(Wave& wave, Twin& twin, TwinMemories& memories, const Operation& op, const OperandUses& uses)
      : wave_(wave), twin_(twin), memories_(memories), op_(op), uses_(uses) {}

  // Checks the use of the operands themselves, before execution.
  std::optional<UndefinedUse> operands();
  // Both waves execute it. `use` is the use of undefined values found.
  Flow execute(std::optional<UndefinedUse>& use);

 private:
  UndefinedUse use(Use kind, std::string_view what, const Origin& origin, u32 lane = 0) const;
  std::optional<UndefinedUse> vector_address();
  std::optional<UndefinedUse> scalar(u32 index, Use kind, std::string_view as);
  std::optional<UndefinedUse> scalar(const Source& source, u32 words, Use kind,
                                     std::string_view as);
  std::optional<UndefinedUse> first_lane();
  std::optional<UndefinedUse> vcc_branch();
  std::optional<UndefinedUse> lanes(const std::optional<Origin>& from);
  std::optional<Origin> undefined_source() const;
  void note_results(const std::optional<Origin>& from);
  void note_vector(u32 index, const std::optional<Origin>& from);
  u64 lds_origin(u32 result, u32 lane, u32 bit) const;
  std::string describe(const Origin& origin) const;

  Wave& wave_;
  Twin& twin_;
  TwinMemories& memories_;
  const Operation& op_;
  const OperandUses& uses_;
  alignas(64) u32 lds_address_[64];  // before: the result may be in its place
};

std::string Step::describe(const Origin& origin) const {
  switch (origin.kind) {
    case Origin::Kind::Vector:
      return fmt::format("{}, which the wave has not written", vector_name(origin.at));
    case Origin::Kind::Scalar:
      return fmt::format("{}, which the wave has not written", scalar_name(origin.at));
    case Origin::Kind::Lds:
      return fmt::format("LDS at {:#x}, which the group has not written", origin.at);
    case Origin::Kind::Memory: break;
  }
  const u64 scratch = u64{wave_.scratch_bytes_per_lane} * wave_.lanes;
  if (origin.at - wave_.scratch_base < scratch) {
    const u64 in_wave = origin.at - wave_.scratch_base;
    return fmt::format("scratch at {:#x}, which the lane has not written",
                       in_wave / (wave_.lanes * 4) * 4 + in_wave % 4);
  }
  return fmt::format("memory at {:#x}, {}, which was never written", origin.at,
                     memories_.space.describe(origin.at));
}

UndefinedUse Step::use(Use kind, std::string_view what, const Origin& origin, u32 lane) const {
  return {.kind = kind,
          .pc = op_.pc,
          .lane = lane,
          .what = fmt::format("{}: {}; it comes from {}", op_.name, what, describe(origin))};
}

std::optional<UndefinedUse> Step::scalar(u32 index, Use kind, std::string_view as) {
  const u32 is = wave_.s[index], differs = is ^ twin_.wave.s[index];
  if (differs == 0) return std::nullopt;
  twin_.wave.s[index] = is;
  return use(kind,
             fmt::format("{} is {:#x}, of whose bits {:#x} are undefined, and is {}",
                         scalar_name(index), is, differs, as),
             twin_.scalar_origins[index]);
}

std::optional<UndefinedUse> Step::scalar(const Source& source, u32 words, Use kind,
                                         std::string_view as) {
  if (source.kind != Source::Kind::Scalar) return std::nullopt;
  for (u32 i = 0; i < words; ++i) {
    if (auto found = scalar(source.index + i, kind, as)) return found;
  }
  return std::nullopt;
}

std::optional<UndefinedUse> Step::vector_address() {
  for (u32 i = 0; i < uses_.vector_rows; ++i) {
    const u32 index = op_.src[kAddress].index + i;
    if (twin_.undefined[index] == 0) continue;
    const u32* is = wave_.row(index);
    u32* twin = twin_.wave.row(index);
    std::optional<u32> first;
    u32 differs = 0;
    const u64 with_address = wave_.exec() & (uses_.lower_half ? 0xffffffff : ~u64{0});
    for (u64 left = with_address; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      if (is[lane] == twin[lane]) continue;
      if (!first) first = lane, differs = is[lane] ^ twin[lane];
      twin[lane] = is[lane];
    }
    if (!first) continue;
    return use(Use::Address,
               fmt::format("{} is {:#x}, of whose bits {:#x} are undefined, and is an address",
                           vector_name(index), is[*first], differs),
               twin_.vector_origins[index], *first);
  }
  return std::nullopt;
}

std::optional<UndefinedUse> Step::first_lane() {
  const u32 index = op_.src[kAddress].index;
  const u32 lane = static_cast<u32>(std::countr_zero(wave_.exec()));
  const u32 is = wave_.row(index)[lane], differs = is ^ twin_.wave.row(index)[lane];
  if (differs == 0) return std::nullopt;
  twin_.wave.row(index)[lane] = is;
  return use(Use::Operand,
             fmt::format("{} is {:#x}, of whose bits {:#x} are undefined, and is a counter's value",
                         vector_name(index), is, differs),
             twin_.vector_origins[index], lane);
}

// The branch is defined if one lane's bit is defined and set.
std::optional<UndefinedUse> Step::vcc_branch() {
  const u64 vcc = wave_.vcc(), differs = vcc ^ twin_.wave.vcc();
  if (differs == 0 || (vcc & ~differs) != 0) return std::nullopt;
  twin_.wave.set_mask(kVccLo, vcc);
  return use(Use::Branch,
             fmt::format("vcc is {:#x}, of whose bits {:#x} are undefined, and decides the branch",
                         vcc, differs),
             twin_.scalar_origins[kVccLo], static_cast<u32>(std::countr_zero(differs)));
}

std::optional<UndefinedUse> Step::operands() {
  std::optional<UndefinedUse> found;
  if (uses_.vcc_branch) return vcc_branch();
  if ((wave_.index_mode & 15) != 0) {
    if ((found = scalar(kM0, Use::Operand, "the number of a register"))) return found;
  }
  if (uses_.m0_operand && (found = scalar(kM0, Use::Operand, "an operand"))) return found;
  if (uses_.lane && (found = scalar(op_.src[1], 1, Use::Operand, "the number of a lane")))
    return found;
  if (uses_.value && (found = scalar(op_.src[0], 1, Use::Operand, "a mode"))) return found;
  const bool vector = (op_.entry->shape.flags & kMemory) != 0;
  if (vector && wave_.exec() == 0) return std::nullopt;
  if (uses_.m0_address && (found = scalar(kM0, Use::Address, "an address"))) return found;
  if (uses_.first_lane && (found = first_lane())) return found;
  if (uses_.address_words != 0 &&
      (found = scalar(op_.src[uses_.scalar], uses_.address_words, Use::Address, "an address"))) {
    return found;
  }
  if (uses_.offset != 0 &&
      (found = scalar(op_.src[uses_.offset - 1], 1, Use::Address, "an offset"))) {
    return found;
  }
  return uses_.vector_rows != 0 ? vector_address() : std::nullopt;
}

// The first source that has an undefined bit, in any lane.
std::optional<Origin> Step::undefined_source() const {
  const Shape& shape = op_.entry->shape;
  for (u32 i = 0; i < op_.src.size(); ++i) {
    const Source& source = op_.src[i];
    if (source.kind == Source::Kind::Vector) {
      const u32 rows = source_registers(op_, i);
      const bool anywhere = (shape.flags & (kAccumulators | kAccumulatorSrc)) != 0;
      for (u32 bank = 0; bank <= (anywhere ? kFirstAccumulator : 0); bank += kFirstAccumulator) {
        const u32 first = source.row / wave_.lanes + bank;
        for (u32 index = first; index < first + rows; ++index) {
          if (twin_.undefined[index] != 0) return twin_.vector_origins[index];
        }
      }
    } else if (source.kind == Source::Kind::Scalar) {
      const bool two =
          registers_of(shape.src[i]) == 2 || (shape.src[i] == Type::Mask && wave_.lanes == 64);
      for (u32 index = source.index; index <= source.index + (two ? 1u : 0u); ++index) {
        if (wave_.s[index] != twin_.wave.s[index]) return twin_.scalar_origins[index];
      }
    }
  }
  if (uses_.reads_scc && wave_.scc != twin_.wave.scc) return twin_.scc_origin;
  return std::nullopt;
}

std::optional<UndefinedUse> Step::lanes(const std::optional<Origin>& from) {
  const u64 exec = wave_.exec(), differs = exec ^ twin_.wave.exec();
  if (differs == 0) return std::nullopt;
  twin_.wave.set_mask(kExecLo, exec);
  return use(Use::Lanes,
             fmt::format("exec becomes {:#x}, of whose bits {:#x} are undefined", exec, differs),
             from.value_or(Origin{Origin::Kind::Scalar, kExecLo}),
             static_cast<u32>(std::countr_zero(differs)));
}

// The source in LDS of a bit of a lane's result.
u64 Step::lds_origin(u32 result, u32 lane, u32 bit) const {
  LoadedByte at{lane, static_cast<u64>(op_.immediate) + result * 4};
  if (const FindLoaded find = op_.entry->find_loaded) at = find(op_, result, lane, bit);
  return lds_address_[at.lane] + at.offset;
}

void Step::note_vector(u32 index, const std::optional<Origin>& from) {
  const bool differs = row_differs(wave_, twin_.wave, index);
  twin_.undefined[index] = differs ? 1 : 0;
  if (!differs) return;
  if (auto memory = memories_.twin.origin()) {
    twin_.vector_origins[index] = {Origin::Kind::Memory, *memory};
  } else if (uses_.lds) {
    const u32* is = wave_.row(index);
    const u32* twin = twin_.wave.row(index);
    u32 lane = 0;
    while (is[lane] == twin[lane]) ++lane;
    const u32 bit = static_cast<u32>(std::countr_zero(is[lane] ^ twin[lane]));
    twin_.vector_origins[index] = {Origin::Kind::Lds,
                                   lds_origin(index - op_.dst_row / wave_.lanes, lane, bit)};
  } else if (from) {
    twin_.vector_origins[index] = *from;
  }
}

void Step::note_results(const std::optional<Origin>& from) {
  const u32 flags = op_.entry->shape.flags;
  if (uses_.vector_dst != 0) {
    const bool accumulator = (flags & kAccumulatorDst) != 0 ||
                             ((flags & kAccumulators) != 0 && (op_.words[0] >> 15 & 1) != 0);
    const u32 first = op_.dst_row / wave_.lanes + (accumulator ? kFirstAccumulator : 0);
    for (u32 i = 0; i < uses_.vector_dst; ++i) note_vector(first + i, from);
  }
  if (uses_.elsewhere || wave_.index_mode != 0) [[unlikely]] {
    for (u32 i = 0; i < twin_.undefined.size(); ++i) {
      twin_.undefined[i] = row_differs(wave_, twin_.wave, i) ? 1 : 0;
    }
  }
  std::optional<Origin> origin = from;
  if (auto memory = memories_.twin.origin()) origin = {Origin::Kind::Memory, *memory};
  if (!origin || (uses_.vector_dst != 0 && (flags & kCarryOut) == 0)) return;
  // Of scalar results, as many as any instruction has.
  const u32 first = (flags & kCarryOut) != 0 ? op_.sdst : op_.dst;
  const u32 count = memories_.twin.origin() ? 16 : 2;
  for (u32 i = first; i < std::min<u32>(first + count, kScalarRegisters); ++i) {
    if (wave_.s[i] != twin_.wave.s[i]) twin_.scalar_origins[i] = *origin;
  }
}

Flow Step::execute(std::optional<UndefinedUse>& use_found) {
  memories_.record.begin();
  memories_.twin.begin();
  const std::optional<Origin> from = undefined_source();
  Trial trial(wave_, twin_.wave, op_);
  if (uses_.compares && from) trial.run();
  if (uses_.lds) {
    std::memcpy(lds_address_, wave_.row(op_.src[kAddress].index), wave_.lanes * 4);
  }

  const Flow flow = run_one(wave_, op_);
  if (flow == Flow::Stop && wave_.pc == op_.pc) return flow;  // it was not executed
  const Flow twin_flow = run_one(twin_.wave, op_);
  if (uses_.compares && from) trial.conclude();
  if (flow == Flow::Jump && (twin_flow != flow || twin_.wave.pc != wave_.pc)) {
    use_found = use(Use::Branch, "where it goes is undefined", from.value_or(twin_.scc_origin));
    twin_.wave.scc = wave_.scc;
  }
  if (memories_.twin.diverged()) {
    use_found = use(Use::Address, "where it accesses memory is undefined",
                    from.value_or(Origin{Origin::Kind::Scalar, kM0}));
  }
  if (auto found = lanes(from)) use_found = found;
  if (wave_.scc != twin_.wave.scc && from) twin_.scc_origin = *from;
  twin_.wave.pc = wave_.pc;
  note_results(from);
  return flow;
}

}  // namespace

Twin::Twin(const Chip& chip, u32 lanes)
    : wave(chip, lanes),
      vector_origins(chip.vgprs + Wave::kSpareRows),
      scalar_origins(kScalarRegisters),
      undefined(chip.vgprs + Wave::kSpareRows) {}

void Twin::complement(const Wave& real, u32 vgprs, u32 accumulators) {
  const auto flip = [&](u32 first, u32 rows) {
    const usize end = usize{first + rows} * real.lanes;
    for (usize i = usize{first} * real.lanes; i < end; ++i) wave.v[i] = ~real.v[i];
  };
  flip(0, vgprs);
  if (accumulators != 0) flip(kFirstAccumulator, accumulators);
  for (usize i = 0; i < real.s.size(); ++i) wave.s[i] = ~real.s[i];
}

void Twin::begin(const Wave& real) {
  for (u32 i = 0; i < undefined.size(); ++i) {
    vector_origins[i] = {Origin::Kind::Vector, i};
    const bool has = i < real.vgpr_count ||
                     (i >= kFirstAccumulator && i - kFirstAccumulator < real.accumulator_count);
    undefined[i] = has && row_differs(real, wave, i) ? 1 : 0;
  }
  for (u32 i = 0; i < scalar_origins.size(); ++i) scalar_origins[i] = {Origin::Kind::Scalar, i};
}

Exit run_with_twin(Wave& wave, Twin& twin, TwinMemories& memories, CodeCache& cache, u64 budget,
                   const Judges& judges, std::optional<UndefinedUse>& use) {
  use.reset();
  wave.memory = &memories.record;
  twin.wave.memory = &memories.twin;
  HostFloatMode mode(wave);
  u64 executed = 0;
  do {
    const Block* block = cache.find(wave.pc, wave.lanes, memories.record);
    if (block == nullptr) {
      Exit exit{.kind = Exit::Kind::Fault, .pc = wave.pc, .address = wave.pc};
      exit.name = "instruction fetch";
      return exit;
    }
    if (!block->needs.within(wave)) {
      return beyond_registers(wave, *block);
    }
    if (block->uses.empty()) {
      for (const Operation& op : block->operations) block->uses.push_back(operand_uses(op));
    }
    Flow flow = Flow::Next;
    for (usize i = 0; i < block->operations.size() && flow == Flow::Next; ++i) {
      const Operation& op = block->operations[i];
      if (op.entry == nullptr) return (op.handler(wave, op), wave.exit);
      Step step(wave, twin, memories, op, block->uses[i]);
      if ((use = step.operands())) {
        wave.pc = op.pc;
        return {.kind = Exit::Kind::Budget, .pc = wave.pc};
      }
      judges.begin(op);
      flow = step.execute(use);
      ++executed;
      twin.wave.clock = ++wave.clock;
      if (flow == Flow::Stop) return wave.exit;
      if (!use) continue;
      if (flow == Flow::Next) wave.pc = op.pc + op.size;
      return {.kind = Exit::Kind::Budget, .pc = wave.pc};
    }
    if (flow == Flow::Next) wave.pc = block->end;
  } while (executed < budget);
  return {.kind = Exit::Kind::Budget, .pc = wave.pc};
}

}  // namespace doorbell::emu::amdgpu
