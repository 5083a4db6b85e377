// Counters are fields of an immediate, whose places differ between generations.
#include "emulator/amd/isa/waits/pending_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

struct Field {
  u32 low, bits;
  u32 of(u32 word) const { return word >> low & ((1u << bits) - 1); }
};

// S_WAITCNT's counts of vector loads and of LDS and scalar loads. gfx9 and gfx10 have the upper two
// bits of the first apart. [LLVM, lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp, getVmcntBitShiftLo()
// and the functions behind it]
u32 vector_count(Generation generation, u32 word) {
  if (generation == Generation::Gfx11) return Field{10, 6}.of(word);
  return Field{0, 4}.of(word) | Field{14, 2}.of(word) << 4;
}
u32 lds_count(Generation generation, u32 word) {
  if (generation == Generation::Gfx11) return Field{4, 6}.of(word);
  return Field{8, generation == Generation::Gfx9 ? 4u : 6u}.of(word);
}

std::string register_name(const RegisterRange& range, u32 index) {
  constexpr u32 kFirstAccumulator = 256;
  if (range.scalar)
    return index == kVccLo ? "vcc_lo" : index == kVccHi ? "vcc_hi" : fmt::format("s{}", index);
  return index < kFirstAccumulator ? fmt::format("v{}", index)
                                   : fmt::format("a{}", index - kFirstAccumulator);
}

bool is_vector_memory(std::string_view name) {
  return name.starts_with("GLOBAL_") || name.starts_with("BUFFER_") ||
         name.starts_with("TBUFFER_") || name.starts_with("SCRATCH_");
}

// Write-backs and invalidations of caches have the formats of loads.
bool is_cache(std::string_view name) {
  return has(name, "_INV") || has(name, "_WB") || has(name, "_GL0") || has(name, "_GL1");
}

}  // namespace

void PendingLoads::clear() {
  loads_.clear();
  copies_issued_ = copies_back_ = 0;
  unmark();
  found_.reset();
}

void PendingLoads::unmark() {
  has_results_ = false;
  vectors_.reset();
  scalars_.reset();
}

std::optional<MissingWait> PendingLoads::take() { return std::exchange(found_, std::nullopt); }

// From gfx10 on, stores and atomic operations without a result have a counter of their own, which
// no register waits for.
std::optional<PendingLoads::Load> PendingLoads::load_of(const Operation& op,
                                                        const RegisterRanges& ranges) const {
  const std::string_view name = op.entry->name;
  Load load{.pc = op.pc, .name = op.name};
  load.copies = (op.entry->shape.flags & kCopiesToLds) != 0;
  for (const RegisterRange& range : ranges)
    if (range.written) load.results.add(range);
  if (name.starts_with("DS_")) {
    load.order = Order::Lds;
    load.counters = kLds;
  } else if (is_vector_memory(name) || name.starts_with("FLAT_")) {
    const bool flat = (op.flags & kMemoryFlat) != 0;
    if (is_cache(name)) return std::nullopt;
    if (load.results.empty() && chip_->generation != Generation::Gfx9 && !load.copies)
      return std::nullopt;
    load.order = flat ? Order::Flat : Order::Vector;
    load.counters = flat ? kVector | kLds : kVector;
  } else if (name.starts_with("S_") &&
             (has(name, "_LOAD_") || name.starts_with("S_MEM") || has(name, "_RTN"))) {
    load.order = Order::None;
    load.counters = kScalar;
  } else {
    return std::nullopt;
  }
  return load;
}

const char* PendingLoads::counter_name(u8 counters) const {
  const bool newest = chip_->generation == Generation::Gfx12;
  if ((counters & kVector) != 0) return newest ? "loadcnt" : "vmcnt";
  if (!newest) return "lgkmcnt";
  return (counters & kLds) != 0 ? "dscnt" : "kmcnt";
}

void PendingLoads::begin(const Operation& op) {
  if (op.entry == nullptr) return;
  if ((op.entry->shape.flags & kCopiesToLds) != 0) ++copies_issued_;
  if (!judges_ && copies_issued_ == copies_back_) return;
  const bool is_scalar = op.entry->name.starts_with("S_");
  if (is_scalar && waits(op)) return;
  const bool may_load = is_scalar || (op.entry->shape.flags & kMemory) != 0;
  const bool is_judged = judges_ && has_results_ && !found_;
  if (!may_load && !is_judged) return;
  const RegisterRanges ranges = register_ranges(op, lanes_);
  if (is_judged) judge(op, ranges);
  if (!may_load) return;
  if (std::optional<Load> load = load_of(op, ranges)) {
    loads_.push_back(std::move(*load));
    mark(loads_.back());
  }
}

void PendingLoads::judge(const Operation& op, const RegisterRanges& uses) {
  const auto is_pending = [&](const RegisterRange& range, u32 index) {
    return range.scalar ? index < kScalarRows && scalars_[index]
                        : index < kRegisterRows && vectors_[index];
  };
  for (const RegisterRange& range : uses) {
    for (u32 index = range.first; index < range.first + range.count; ++index) {
      if (!is_pending(range, index)) continue;
      const auto load = std::ranges::find_if(loads_, [&](const Load& one) {
        return std::ranges::any_of(one.results, [&](const RegisterRange& result) {
          return result.scalar == range.scalar && index - result.first < result.count;
        });
      });
      // Loads of one order come back in it, so that the last one's value stays.
      const std::optional<Load> own = range.written ? load_of(op, uses) : std::nullopt;
      if (own && own->order == load->order && own->order != Order::None) continue;
      found_ =
          MissingWait{.pc = op.pc,
                      .what = fmt::format(
                          "{} {} {}, which {} at {:#x} loads; no wait for {} is between them",
                          op.name, range.written ? "writes" : "reads", register_name(range, index),
                          load->name, load->pc, counter_name(load->counters))};
      return;
    }
  }
}

bool PendingLoads::waits(const Operation& op) {
  const std::string_view name = op.entry->name;
  if (!name.starts_with("S_WAIT")) return false;
  const u32 word = static_cast<u32>(op.immediate) & 0xffff;
  const u8 lds_and_scalar = chip_->generation == Generation::Gfx12 ? kLds : kLds | kScalar;
  if (name == "S_WAITCNT") {
    wait(kVector, vector_count(chip_->generation, word));
    wait(lds_and_scalar, lds_count(chip_->generation, word));
  } else if (name == "S_WAITCNT_VMCNT" || name == "S_WAIT_LOADCNT") {
    wait(kVector, word);
  } else if (name == "S_WAITCNT_LGKMCNT" || name == "S_WAIT_DSCNT") {
    wait(lds_and_scalar, word);
  } else if (name == "S_WAIT_KMCNT") {
    wait(kScalar, word);
  } else if (name == "S_WAIT_LOADCNT_DSCNT") {
    wait(kLds, Field{0, 6}.of(word));
    wait(kVector, Field{8, 6}.of(word));
  } else if (name == "S_WAIT_STORECNT_DSCNT") {
    wait(kLds, Field{0, 6}.of(word));
  } else if (name == "S_WAIT_IDLE") {
    wait(kVector | kLds | kScalar, 0);
  }
  return true;
}

// At most `left` loads are out. One that comes back in order is back if as many of its order were
// issued behind it; one without an order, if none is out.
void PendingLoads::wait(u8 counters, u32 left) {
  if (loads_.empty()) return;
  u32 vector_behind = 0, lds_behind = 0;
  bool changed = false;
  for (usize i = loads_.size(); i-- > 0;) {
    const Load& load = loads_[i];
    if ((load.counters & counters) == 0) continue;
    u32* behind = load.order == Order::Vector ? &vector_behind
                  : load.order == Order::Lds  ? &lds_behind
                                              : nullptr;
    const bool is_back = behind != nullptr ? (*behind)++ >= left : left == 0;
    if (!is_back) continue;
    if (load.copies) ++copies_back_;
    loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(i));
    changed = true;
  }
  if (!changed) return;
  unmark();
  for (const Load& load : loads_) mark(load);
}

void PendingLoads::mark(const Load& load) {
  has_results_ |= !load.results.empty();
  for (const RegisterRange& range : load.results)
    for (u32 index = range.first; index < range.first + range.count; ++index) {
      if (range.scalar && index < kScalarRows) scalars_.set(index);
      if (!range.scalar && index < kRegisterRows) vectors_.set(index);
    }
}

}  // namespace doorbell::emu::amdgpu
