// Copies of blocks between global and shared memory (cp.async.bulk): UBLKCP.
// [PTX ISA, "cp.async.bulk"; fields: nvdisasm's text of what NVRTC compiles]
//
// A copy is done when the instruction is executed: hardware does it at some time until its mbarrier
// completes, or until its group was waited for. Reading what a copy writes before that is seen by
// the rules about races, but not within the warp that copies.
#include <cstring>
#include <optional>

#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/mbarrier.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kUnit = 16;  // bytes: sizes and addresses are multiples

struct BulkCopy {
  bool to_shared = false;
  u32 to = 0, from = 0, size = 0;  // rows of uniform registers

  // Nothing where the form is not known: between blocks of a cluster, multicast, cache hints.
  static std::optional<BulkCopy> of(const Operation& op) {
    const u32 direction = op.field(73, 2);
    const bool plain = op.form == 1 && op.field(16, 8) == 0 && op.field(38, 26) == 0 &&
                       op.field(70, 3) == 0 && op.field(75, 16) == 0 && op.bit(91);
    if (!plain || (direction != 1 && direction != 2)) return std::nullopt;
    return BulkCopy{direction == 1, kUniformStart + op.field(32, 6),
                    kUniformStart + op.field(24, 6), kUniformStart + op.field(64, 6)};
  }
};

}  // namespace

// UBLKCP.S.G [shared, mbarrier], [global], size; UBLKCP.G.S [global], [shared], size. The size
// counts units of 16 bytes, in the lower half of its register.
Flow copy_block(Warp& warp, const Operation& op) {
  const std::optional<BulkCopy> copy = BulkCopy::of(op);
  if (!copy) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0 || warp.active == 0) return Flow::Next;
  const u32 lane = Warp::first_lane(warp.active);
  const auto word = [&](u32 row) { return warp.rows[row][lane]; };
  const auto pair = [&](u32 row) { return word(row) | u64{word(next_row(row))} << 32; };
  u64 to = copy->to_shared ? word(copy->to) : pair(copy->to);
  u64 from = copy->to_shared ? pair(copy->from) : word(copy->from);
  const Space source = copy->to_shared ? Space::Global : Space::Shared;
  const Space target = copy->to_shared ? Space::Shared : Space::Global;
  const u32 units = word(copy->size) & 0xffff;
  for (u32 i = 0; i < units; ++i, to += kUnit, from += kUnit) {
    const u8* read = locate(warp, source, lane, from, kUnit, false);
    if (read == nullptr) return Flow::Stop;
    u8* write = locate(warp, target, lane, to, kUnit, true);
    if (write == nullptr) return Flow::Stop;
    std::memcpy(write, read, kUnit);
  }
  if (!copy->to_shared) return Flow::Next;
  const u32 mbarrier = word(next_row(copy->to));
  return complete_bytes(warp, lane, mbarrier, i64{units} * kUnit) ? Flow::Next : Flow::Stop;
}

}  // namespace doorbell::emu::nvgpu
