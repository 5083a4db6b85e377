// Loads and stores. [PTX ISA, "ld", "st"; fields: Mesa's NAK, OpLd, OpSt, OpLdc]
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

// A uniform register in a global address's place other than as descriptor.
bool is_unknown_address(const Operation& op, Space space) {
  return (space == Space::Global || space == Space::Generic) && op.bit(91) && !op.bit(90);
}

// Bits 77 to 80: weak loads may find what an L1 holds, as may those that are strong within a block
// (5). [Mesa's NAK, sm70_encode.rs set_mem_order()]
bool passes_l1(const Operation& op, Space space) {
  const u32 order = op.field(77, 4);
  return (space == Space::Global || space == Space::Generic) && order > 5;
}

// The lanes of an instruction by what they read of shared memory: most read what another one does.
class SharedReads {
 public:
  // A lane that reads the same, or `lane` itself, which is noted.
  u32 lane_that_reads(u64 address, u32 bytes, u32 lane) {
    const u32 slot = static_cast<u32>(address >> std::countr_zero(bytes)) % kLanes;
    if (!(taken_ >> slot & 1) || addresses_[slot] != address) {
      taken_ |= 1u << slot;
      addresses_[slot] = address;
      lanes_[slot] = lane;
    }
    return lanes_[slot];
  }

 private:
  u32 taken_ = 0;
  std::array<u64, kLanes> addresses_;
  std::array<u32, kLanes> lanes_;
};

Flow load(Warp& warp, const Operation& op, Space space) {
  if (is_unknown_address(op, space)) return unknown_instruction(warp, op);
  const AccessSize size = access_size(op);
  const u32 mask = warp.mask_of(op);
  const u32 words = size.bytes <= 4 ? 1 : size.bytes / 4;
  const bool fresh = passes_l1(op, space), shares = space == Space::Shared && !warp.block->counts();
  SharedReads reads;
  alignas(64) u32 out[4][kLanes];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const u64 address = address_of(warp, op, space, lane, 32);
    if (fresh) warp.block->drop_cached(address);
    if (const u32 other = shares ? reads.lane_that_reads(address, size.bytes, lane) : lane;
        other != lane) {
      for (u32 word = 0; word < words; ++word) out[word][lane] = out[word][other];
      continue;
    }
    const u8* from = locate(warp, space, lane, address, size.bytes, false);
    if (from == nullptr) return Flow::Stop;
    u32 value[4] = {};
    std::memcpy(value, from, size.bytes);
    if (size.is_signed && size.bytes == 1)
      value[0] = static_cast<u32>(i32{static_cast<i8>(value[0])});
    if (size.is_signed && size.bytes == 2)
      value[0] = static_cast<u32>(i32{static_cast<i16>(value[0])});
    for (u32 word = 0; word < words; ++word) out[word][lane] = value[word];
  }
  u32 dst = op.dst;
  for (u32 word = 0; word < words; ++word, dst = next_row(dst))
    store_row(warp, dst, out[word], mask);
  return Flow::Next;
}

Flow store(Warp& warp, const Operation& op, Space space) {
  if (is_unknown_address(op, space)) return unknown_instruction(warp, op);
  const AccessSize size = access_size(op);
  const u32 mask = warp.mask_of(op);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const u64 address = address_of(warp, op, space, lane, 64);
    u8* to = locate(warp, space, lane, address, size.bytes, true);
    if (to == nullptr) return Flow::Stop;
    u32 value[4];
    u32 row = op.field(32, 8);
    for (u32& word : value) {
      word = warp.rows[row][lane];
      row = next_row(row);
    }
    warp.block->hand_over(to, value, size.bytes, false);
    std::memcpy(to, value, size.bytes);
  }
  return Flow::Next;
}

}  // namespace

Flow load_global(Warp& warp, const Operation& op) { return load(warp, op, Space::Global); }
Flow load_generic(Warp& warp, const Operation& op) { return load(warp, op, Space::Generic); }
Flow load_shared(Warp& warp, const Operation& op) { return load(warp, op, Space::Shared); }
Flow load_local(Warp& warp, const Operation& op) { return load(warp, op, Space::Local); }
Flow store_global(Warp& warp, const Operation& op) { return store(warp, op, Space::Global); }
Flow store_generic(Warp& warp, const Operation& op) { return store(warp, op, Space::Generic); }
Flow store_shared(Warp& warp, const Operation& op) { return store(warp, op, Space::Shared); }
Flow store_local(Warp& warp, const Operation& op) { return store(warp, op, Space::Local); }

// From bank 54 to 58, at the offset in bits 38 to 53 and, but for uniform loads, a register.
Flow load_constant(Warp& warp, const Operation& op) {
  const bool uniform = op.opcode->flags & kUniform;
  const u32 mask = warp.mask_of(op);
  if (op.bit(91) || (!uniform && op.field(78, 2) != 0)) return unknown_instruction(warp, op);
  const AccessSize size = access_size(op);
  const auto found = warp.block->grid().banks.find(op.field(54, 5));
  const u32 words = size.bytes <= 4 ? 1 : size.bytes / 4;
  alignas(64) u32 out[4][kLanes];
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const u64 index = uniform ? 0 : row_of(warp, op.a)[lane];
    const u64 offset = (index + op.field(38, 16)) & 0xffff'ffff;
    const u64 end = found == warp.block->grid().banks.end() ? 0 : found->second.size();
    if (offset + size.bytes > end)
      return stop(warp, kConstantAccess, lane, offset,
                  fmt::format("{} bytes at {:#x} of constant bank {}, which has {:#x} bytes",
                              size.bytes, offset, op.field(54, 5), end));
    if (offset % size.bytes != 0)
      return stop(warp, kMisaligned, lane, offset,
                  fmt::format("{} bytes at {:#x} of a constant bank", size.bytes, offset));
    u32 value[4] = {};
    std::memcpy(value, found->second.data() + offset, size.bytes);
    if (size.is_signed && size.bytes == 1)
      value[0] = static_cast<u32>(i32{static_cast<i8>(value[0])});
    if (size.is_signed && size.bytes == 2)
      value[0] = static_cast<u32>(i32{static_cast<i16>(value[0])});
    for (u32 word = 0; word < words; ++word) out[word][lane] = value[word];
  }
  u32 dst = op.dst;
  for (u32 word = 0; word < words; ++word, dst = next_row(dst))
    store_row(warp, dst, out[word], mask);
  return Flow::Next;
}

Flow constant_beyond_bank(Warp& warp, const Operation& op) {
  const u32 number = op.field(54, 5), offset = op.field(38, 16);
  const Banks& banks = warp.block->grid().banks;
  const auto bank = banks.find(number);
  return stop(warp, kConstantAccess, Warp::first_lane(warp.active), offset,
              fmt::format("an operand at {:#x} of constant bank {}, which has {:#x} bytes", offset,
                          number, bank == banks.end() ? 0 : bank->second.size()));
}

}  // namespace doorbell::emu::nvgpu
