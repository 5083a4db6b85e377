// Loads and stores of matrices in shared memory, their transposition, and copies from global to
// shared memory that a warp waits for by groups. [PTX ISA, "ldmatrix", "stmatrix", "movmatrix",
// "cp.async", "cp.async.commit_group", "cp.async.wait_group"; fields: Mesa's NAK, OpLdsm, OpMovm;
// nvdisasm]
#include <immintrin.h>

#include <cstring>
#include <optional>

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

// 8 rows of 8 elements of 16 bits: as they lie, the words of lanes 0 to 31, of which lane 4 r + c
// has columns 2 c and 2 c + 1 of row r.
struct alignas(64) Tile {
  u16 at[8][8];
};
static_assert(sizeof(Tile) == sizeof(Row));

// Pairs of elements, of two, then of four.
Tile transposed(const Tile& tile) {
  __m128i row[8], pair[8];
  for (u32 i = 0; i < 8; ++i) row[i] = _mm_load_si128(reinterpret_cast<const __m128i*>(tile.at[i]));
  for (u32 i = 0; i < 4; ++i) {
    pair[2 * i] = _mm_unpacklo_epi16(row[2 * i], row[2 * i + 1]);
    pair[2 * i + 1] = _mm_unpackhi_epi16(row[2 * i], row[2 * i + 1]);
  }
  for (u32 half = 0; half < 2; ++half)
    for (u32 i = 0; i < 2; ++i) {
      const __m128i above = pair[4 * half + i], below = pair[4 * half + 2 + i];
      row[4 * half + 2 * i] = _mm_unpacklo_epi32(above, below);
      row[4 * half + 2 * i + 1] = _mm_unpackhi_epi32(above, below);
    }
  Tile made;
  for (u32 i = 0; i < 4; ++i) {
    const __m128i low = _mm_unpacklo_epi64(row[i], row[4 + i]);
    const __m128i high = _mm_unpackhi_epi64(row[i], row[4 + i]);
    _mm_store_si128(reinterpret_cast<__m128i*>(made.at[2 * i]), low);
    _mm_store_si128(reinterpret_cast<__m128i*>(made.at[2 * i + 1]), high);
  }
  return made;
}

void store_tile(Warp& warp, u32 row, const Tile& tile) {
  if (row != kZero) std::memcpy(warp.rows[row].data(), &tile, sizeof(Tile));
}

// LDSM and STSM: bits 72 and 73: how many matrices; 78 and 79: transposed. Lane 8 m + r has the
// address of row r of matrix m.
struct MatrixAccess {
  u32 count = 1;
  bool transposed = false;

  static std::optional<MatrixAccess> of(const Operation& op) {
    const u32 size = op.field(72, 2), kind = op.field(78, 2);
    if (size == 3 || kind > 1 || op.field(74, 4) != 0 || op.field(80, 11) != 0) return std::nullopt;
    return MatrixAccess{1u << size, kind == 1};
  }
};

// The address has no scale: bits 78 and 79 are something else. `uniform_at`: see address_of().
class RowAddresses {
 public:
  RowAddresses(const Warp& warp, const Operation& op, unsigned uniform_at)
      : rows_(row_of(warp, op.a)),
        uniform_(op.bit(91) ? &warp.rows[kUniformStart + op.field(uniform_at, 6)] : nullptr),
        offset_(static_cast<u32>(op.words.signed_at(40, 24))) {}

  u32 of_lane(u32 lane) const {
    return rows_[lane] + offset_ + (uniform_ != nullptr ? (*uniform_)[lane] : 0);
  }

 private:
  const Row& rows_;
  const Row* const uniform_;
  const u32 offset_;
};

}  // namespace

bool check_whole_warp(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  if (lanes == kAllLanes) return true;
  const std::string message = fmt::format("{}: {} is executed by lanes {:#x}",
                                          warp.block->grid().kernel.name, text_of(op), lanes);
  if (warp.block->grid().checks.report(kWholeWarp, message) != Level::Error) return true;
  stop(warp, kWholeWarp, Warp::first_lane(~lanes), 0, message);
  return false;
}

Flow load_matrix(Warp& warp, const Operation& op) {
  const std::optional<MatrixAccess> access = MatrixAccess::of(op);
  if (!access) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0) return Flow::Next;
  if (!check_whole_warp(warp, op)) return Flow::Stop;
  Tile tiles[4];
  const RowAddresses addresses(warp, op, 32);
  for (u32 lane = 0; lane < 8 * access->count; ++lane) {
    const u8* from = locate(warp, Space::Shared, lane, addresses.of_lane(lane), 16, false);
    if (from == nullptr) return Flow::Stop;
    std::memcpy(tiles[lane / 8].at[lane % 8], from, 16);
  }
  u32 dst = op.dst;
  for (u32 tile = 0; tile < access->count; ++tile, dst = next_row(dst)) {
    store_tile(warp, dst, access->transposed ? transposed(tiles[tile]) : tiles[tile]);
  }
  return Flow::Next;
}

// STSM: the reverse of LDSM.
Flow store_matrix(Warp& warp, const Operation& op) {
  const std::optional<MatrixAccess> access = MatrixAccess::of(op);
  if (!access) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0) return Flow::Next;
  if (!check_whole_warp(warp, op)) return Flow::Stop;
  Tile tiles[4];
  u32 row = op.field(32, 8);
  for (u32 tile = 0; tile < access->count; ++tile, row = next_row(row)) {
    std::memcpy(&tiles[tile], warp.rows[row].data(), sizeof(Tile));
    if (access->transposed) tiles[tile] = transposed(tiles[tile]);
  }
  const RowAddresses addresses(warp, op, 64);
  for (u32 lane = 0; lane < 8 * access->count; ++lane) {
    u8* to = locate(warp, Space::Shared, lane, addresses.of_lane(lane), 16, true);
    if (to == nullptr) return Flow::Stop;
    std::memcpy(to, tiles[lane / 8].at[lane % 8], 16);
  }
  return Flow::Next;
}

// MOVM.16.MT88.
Flow transpose_matrix(Warp& warp, const Operation& op) {
  if (op.field(72, 15) != 0) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0) return Flow::Next;
  if (!check_whole_warp(warp, op)) return Flow::Stop;
  Tile tile;
  std::memcpy(&tile, row_of(warp, op.a).data(), sizeof(Tile));
  store_tile(warp, op.dst, transposed(tile));
  return Flow::Next;
}

// LDGSTS. The shared address is the register at 16 and the offset from 44, the global one the
// registers at 24 and the offset from 32. .ZFILL (bit 82): how far the global address is beyond a
// multiple of the size says how many of the last bytes are zeros; without the predicate all are.
// That is how NVRTC compiles cp.async with the size of its source in a register.
Flow copy_to_shared(Warp& warp, const Operation& op) {
  if (op.field(73, 3) < 4 || op.field(73, 3) > 6 || !op.bit(76))
    return unknown_instruction(warp, op);
  const u32 bytes = access_size(op).bytes, mask = warp.mask_of(op);
  const u32 copied = predicate_of(warp, op.in_p, op.not_p);
  const bool fills = op.bit(82);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    u64 global = row_of(warp, op.a, 0)[lane] | u64{row_of(warp, op.a, 1)[lane]} << 32;
    global += static_cast<u64>(op.words.signed_at(32, 12));
    const u32 zeros = !(copied >> lane & 1) ? bytes : fills ? global % bytes : 0;
    u8 data[16] = {};
    if (zeros != bytes) {
      if (fills) global -= global % bytes;
      warp.block->drop_cached(global);  // most of them pass the L1
      const u8* from = locate(warp, Space::Global, lane, global, bytes, false);
      if (from == nullptr) return Flow::Stop;
      std::memcpy(data, from, bytes - zeros);
    }
    const u32 shared = warp.rows[op.dst][lane] + static_cast<u32>(op.words.signed_at(44, 20));
    u8* to = warp.block->copy_target(warp, lane, shared, bytes);
    if (to == nullptr) return Flow::Stop;
    std::memcpy(to, data, bytes);
  }
  return Flow::Next;
}

// LDGDEPBAR: the scoreboard that it names counts a group until the copies before it are done.
Flow commit_copies(Warp& warp, const Operation& op) {
  if (warp.mask_of(op) == 0) return Flow::Next;
  warp.copy_scoreboard = control_of(op.words).write_barrier;
  ++warp.copies_committed;
  return Flow::Next;
}

// DEPBAR.LE SBn, count: at most as many groups are left.
Flow wait_for_scoreboard(Warp& warp, const Operation& op) {
  if (warp.mask_of(op) == 0 || !op.bit(47) || op.field(44, 3) != warp.copy_scoreboard)
    return Flow::Next;
  const u32 left = op.field(38, 6);
  if (warp.copies_committed > left) warp.block->finish_copies(warp, warp.copies_committed - left);
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
