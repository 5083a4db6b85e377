// From instructions to accesses (access_judge.h).
#include "emulator/nv/compute/access_judge.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kMembar = 0x192;

struct Order {
  bool strong = false;  // not a plain load or store
  bool wide = false;    // at the GPU's scope, or wider
};

bool has_order(const Operation& op) {
  switch (op.opcode->number) {
    case 0x180:  // LD
    case 0x181:  // LDG
    case 0x185:  // ST
    case 0x186:  // STG
    case 0x18a:  // ATOM
    case 0x18e:  // RED
    case 0x1a3:  // ATOMG
    case 0x1a6:  // REDG
    case 0x1a8:  // ATOMG
    case 0x1a9:  // ATOMG
      return true;
    default: return false;
  }
}

// An atomic operation that gives its warp the value before.
bool returns_before(const Operation& op) {
  constexpr u32 kRed = 0x18e, kRedg = 0x1a6;
  return op.opcode->number != kRed && op.opcode->number != kRedg && op.dst != kZero;
}

// Before Ampere the scope is bits 77 and 78, and 79 and 80 are constant, weak, strong, MMIO.
Order order_of(const Operation& op) {
  if (!has_order(op)) return {};
  const u32 order = op.field(77, 4);
  if (op.chip < 80) {
    const bool strong = order >> 2 >= 2;
    return {strong, strong && (order & 3) >= 2};
  }
  constexpr u32 kBlock = 5, kGpu = 7;
  return {order == kBlock || order >= kGpu, order >= kGpu};
}

}  // namespace

std::unique_ptr<GlobalRaces> AccessJudge::between_warps(u32 warps_of_block) {
  return std::make_unique<GlobalRaces>(GlobalRaces::Rules{.stores_have_scope = true,
                                                          .fences_count = true,
                                                          .wave = "warp",
                                                          .group = "block",
                                                          .scope = "GPU scope"},
                                       warps_of_block);
}

AccessJudge::AccessJudge(const AddressSpace& space, u64 entry, std::unique_ptr<GlobalRaces> warps,
                         RaceTask* task)
    : entry_(entry), warps_(std::move(warps)) {
  if (task != nullptr) others_.emplace(*task, space);
}

GroupOrder* AccessJudge::start(u64 block, const std::array<u32, 3>& index) {
  return warps_ ? warps_->start(block, index) : nullptr;
}

void AccessJudge::begin(u64 block, u32 warp, const Operation& op, u64 pc) {
  op_ = &op;
  const Order order = order_of(op);
  strong_ = order.strong;
  wide_ = order.wide;
  if (others_) others_->begin(pc - entry_, op.opcode->name);
  if (!warps_) return;
  constexpr u32 kGpuScope = 2;
  if (op.opcode->number == kMembar && op.field(76, 3) >= kGpuScope) warps_->fence(block, warp);
  warps_->begin(block, warp);
  warps_->begin(pc - entry_, op.opcode->name);
}

void AccessJudge::access(u64 address, const u8* host, u32 bytes, bool write, bool atomic) {
  if (warps_) {
    const bool returns = returns_before(*op_);
    const GlobalAccess kind = atomic  ? returns ? GlobalAccess::AtomicResult : GlobalAccess::Atomic
                              : write ? wide_ ? GlobalAccess::AtomicStore : GlobalAccess::Store
                              : wide_ ? GlobalAccess::AtomicLoad
                                      : GlobalAccess::Load;
    warps_->access(address, bytes, kind, wide_);
    for (Race& race : warps_->take()) found_.push_back(std::move(race));
  }
  if (!others_) return;
  if (strong_ && !write) others_->acquire(host, bytes);
  const AgentAccess kind = write     ? strong_ ? AgentAccess::AtomicWrite : AgentAccess::Write
                           : strong_ ? AgentAccess::AtomicRead
                                     : AgentAccess::Read;
  others_->access(address, host, bytes, kind);
  for (Race& race : others_->take()) found_with_others_.push_back(std::move(race));
}

void AccessJudge::hand_over(const u8* host, const void* bytes, u32 count, bool atomic) {
  if (!others_ || !strong_) return;
  if (atomic && returns_before(*op_)) others_->acquire(host, count);
  others_->release(host, std::span(static_cast<const u8*>(bytes), count));
}

}  // namespace doorbell::emu::nvgpu
