// CodeCache: decoded blocks of code by address. A block runs from an address to the first
// instruction that may jump or stop. Code may be overwritten between dispatches: a block is
// compared with the bytes in memory at its first use in each, and decoded again when they differ.
//
// Thread safety: one thread at a time; each thread that runs waves has a cache of its own.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/decode/register_bounds.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/shadow/twin_uses.h"

namespace doorbell::emu::amdgpu {

struct Block {
  u64 pc = 0, end = 0;
  u64 generation = 0;
  std::vector<Operation> operations;
  std::vector<u8> bytes;  // from which it was decoded
  RegisterNeeds needs;
  mutable std::vector<OperandUses> uses;  // of each operation, for isa/shadow/twin.cc
};

class CodeCache {
 public:
  static Result<std::unique_ptr<CodeCache>> create(const Chip& chip, const HandlerSet& handlers);

  // Makes changes of code visible: call before each dispatch.
  void begin_dispatch() { ++generation_; }

  // Ends blocks before these addresses, so that a caller sees waves there.
  void end_blocks_before(std::span<const u64> addresses);

  // The block at pc; null when no instruction can be fetched there. Borrowed until the next call.
  const Block* find(u64 pc, u32 lanes, Memory& memory) {
    Slot& slot = recent_[(pc >> 2 ^ (lanes == 64 ? 1 : 0)) % recent_.size()];
    if (slot.pc == pc && slot.lanes == lanes && slot.generation == generation_) [[likely]]
      return slot.block;
    return look_up(pc, lanes, memory, slot);
  }

  const HandlerSet& handlers() const { return handlers_; }
  usize blocks() const { return blocks_[0].size() + blocks_[1].size(); }

 private:
  struct Slot {
    u64 pc = ~u64{0};
    u64 generation = 0;
    u32 lanes = 0;
    const Block* block = nullptr;
  };

  CodeCache(const Chip& chip, const HandlerSet& handlers) : chip_(chip), handlers_(handlers) {}
  const Block* look_up(u64 pc, u32 lanes, Memory& memory, Slot& slot);
  void decode_block(Block& block, Decoder& decoder, Memory& memory) const;
  bool unchanged(const Block& block, Memory& memory) const;

  const Chip& chip_;
  const HandlerSet& handlers_;
  std::array<std::unique_ptr<Decoder>, 2> decoders_;  // waves of 32 and of 64 lanes
  std::array<absl::flat_hash_map<u64, std::unique_ptr<Block>>, 2> blocks_;
  std::array<Slot, 1024> recent_{};
  u64 generation_ = 1;
  std::set<u64> ends_;  // of end_blocks_before()
};

}  // namespace doorbell::emu::amdgpu
