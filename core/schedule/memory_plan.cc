// Greedy by size: the largest blocks choose first, each taking the tightest gap that is free during
// its life. Close to the lower bound on the graphs of networks, where few sizes repeat.
#include "core/schedule/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

namespace doorbell::core {
namespace {

i64 round_up(i64 bytes) {
  return (std::max<i64>(bytes, 1) + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

// The start of the tightest gap of `bytes` between the placed neighbours, which are ordered by
// offset; after the last of them where no gap fits.
i64 tightest_gap(std::span<const PlannedBlock* const> neighbours, i64 bytes) {
  i64 end = 0, best = -1, best_size = 0;
  for (const PlannedBlock* block : neighbours) {
    const i64 gap = block->offset - end;
    if (gap >= bytes && (best < 0 || gap < best_size)) {
      best = end;
      best_size = gap;
    }
    end = std::max(end, block->offset + round_up(block->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

i64 place_blocks(std::span<PlannedBlock> blocks) {
  std::vector<usize> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), usize{0});
  std::sort(by_size.begin(), by_size.end(), [&](usize a, usize b) {
    const i64 size_a = round_up(blocks[a].bytes), size_b = round_up(blocks[b].bytes);
    if (size_a != size_b) return size_a > size_b;
    if (blocks[a].first != blocks[b].first) return blocks[a].first < blocks[b].first;
    return a < b;
  });
  std::vector<const PlannedBlock*> placed, neighbours;  // both by offset
  i64 total = 0;
  for (usize at : by_size) {
    PlannedBlock& block = blocks[at];
    neighbours.clear();
    for (const PlannedBlock* other : placed)
      if (other->first <= block.last && block.first <= other->last) neighbours.push_back(other);
    block.offset = tightest_gap(neighbours, round_up(block.bytes));
    total = std::max(total, block.offset + round_up(block.bytes));
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), block.offset,
        [](i64 offset, const PlannedBlock* other) { return offset < other->offset; });
    placed.insert(after, &block);
  }
  return total;
}

void plan_memory(Schedule* schedule, bool reuse) {
  struct Use {
    PlannedBlock block;
    u32 buffer;
  };
  constexpr u32 kUnused = ~u32{0};
  std::vector<u32> first(schedule->buffers.size(), kUnused), last(schedule->buffers.size(), 0);
  for (u32 i = 0; i < schedule->items.size(); ++i) {
    for (u32 buffer : schedule->items[i].buffers) {
      if (first[buffer] == kUnused) first[buffer] = i;
      last[buffer] = i;
    }
  }
  const u32 end = static_cast<u32>(schedule->items.size());
  std::map<u16, std::vector<Use>> by_device;
  for (u32 i = 0; i < schedule->buffers.size(); ++i) {
    const ScheduleBuffer& buffer = schedule->buffers[i];
    if (buffer.kind != ScheduleBuffer::Kind::Temporary || first[i] == kUnused) continue;
    const i64 bytes = buffer.count * buffer.dtype.bytes();
    by_device[buffer.device].push_back(
        {{bytes, reuse ? first[i] : 0, reuse ? last[i] : end, -1}, i});
  }
  schedule->temporary_bytes.clear();
  for (auto& [device, uses] : by_device) {
    std::vector<PlannedBlock> blocks;
    for (const Use& use : uses) blocks.push_back(use.block);
    schedule->temporary_bytes.resize(device + usize{1}, 0);
    schedule->temporary_bytes[device] = place_blocks(blocks);
    for (usize i = 0; i < uses.size(); ++i)
      schedule->buffers[uses[i].buffer].offset = blocks[i].offset;
  }
}

}  // namespace doorbell::core
