// Decodes and revalidates blocks.
#include "emulator/amd/isa/decode/code_cache.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::emu::amdgpu {

namespace {

constexpr usize kMaxOperations = 128;
constexpr u32 kMaxBytes = 20;  // of one instruction

// The words of the following bytes, as far as they can be fetched.
u32 fetch_window(Memory& memory, u64 pc, u8* window) {
  if (memory.fetch(pc, kMaxBytes, window)) return kMaxBytes;
  u32 size = 0;
  while (size < kMaxBytes && memory.fetch(pc + size, 4, window + size)) size += 4;
  return size;
}

}  // namespace

Result<std::unique_ptr<CodeCache>> CodeCache::create(const Chip& chip, const HandlerSet& handlers) {
  std::unique_ptr<CodeCache> cache(new CodeCache(chip, handlers));
  TRY(const InstructionSources* sources, instruction_sources());
  for (u32 i = 0; i < 2; ++i) {
    if (i == 0 ? !chip.wave32 : !chip.wave64) continue;
    TRY(std::unique_ptr<InstructionSource> source, sources->open(chip.name, i == 0 ? 32 : 64));
    cache->decoders_[i] =
        std::make_unique<Decoder>(chip, i == 0 ? 32u : 64u, handlers, std::move(source));
  }
  return cache;
}

void CodeCache::end_blocks_before(std::span<const u64> addresses) {
  const usize before = ends_.size();
  ends_.insert(addresses.begin(), addresses.end());
  if (ends_.size() == before) return;
  for (auto& blocks : blocks_) blocks.clear();
  recent_.fill({});
}

const Block* CodeCache::look_up(u64 pc, u32 lanes, Memory& memory, Slot& slot) {
  const u32 which = lanes == 64 ? 1 : 0;
  CHECK(decoders_[which] != nullptr, "{} has no waves of {} lanes", chip_.name, lanes);
  std::unique_ptr<Block>& block = blocks_[which][pc];
  if (block == nullptr || (block->generation != generation_ && !unchanged(*block, memory))) {
    if (block == nullptr) block = std::make_unique<Block>();
    block->pc = pc;
    decode_block(*block, *decoders_[which], memory);
    if (block->operations.empty()) {
      slot = {};
      blocks_[which].erase(pc);
      return nullptr;
    }
  }
  block->generation = generation_;
  slot = {pc, generation_, lanes, block.get()};
  return block.get();
}

void CodeCache::decode_block(Block& block, Decoder& decoder, Memory& memory) const {
  block.operations.clear();
  block.bytes.clear();
  block.uses.clear();
  u64 pc = block.pc;
  while (block.operations.size() < kMaxOperations) {
    if (pc != block.pc && ends_.contains(pc)) break;
    u8 window[kMaxBytes] = {};
    const u32 fetched = fetch_window(memory, pc, window);
    if (fetched == 0) break;  // faults when it is reached
    const u32 size = decoder.decode(std::span(window, fetched), pc, block.operations);
    block.bytes.insert(block.bytes.end(), window, window + std::min(size, fetched));
    pc += size;
    const Operation& last = block.operations.back();
    if (last.entry == nullptr || (last.entry->shape.flags & kEndsBlock)) break;
  }
  block.end = pc;
  block.needs = register_needs(block.operations);
}

bool CodeCache::unchanged(const Block& block, Memory& memory) const {
  std::vector<u8> now(block.bytes.size());
  return memory.fetch(block.pc, static_cast<u32>(now.size()), now.data()) && now == block.bytes;
}

}  // namespace doorbell::emu::amdgpu
