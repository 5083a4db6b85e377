// Copies of boxes of tensors between global and shared memory (cp.async.bulk.tensor, tiled):
// UTMALDG, UTMASTG. See bulk_copy.cc for when a copy is done.
// [PTX ISA, "cp.async.bulk.tensor", "Tensors": tiled mode, out-of-boundary access, swizzling modes;
// fields: nvdisasm's text of what NVRTC compiles]
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/mbarrier.h"
#include "emulator/nv/isa/memory_access.h"
#include "emulator/nv/isa/tensor_map.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kLoad = 0x1b4, kAlignment = 128;

// Null after stop(), or where the map is not one that is executed.
std::optional<TensorMap> map_at(Warp& warp, u32 lane, u64 address) {
  constexpr u32 kPart = 16;
  u8 bytes[TensorMap::kBytes];
  const Grid& grid = warp.block->grid();
  if (address - kParameterWindow < kWindowBytes) {
    const u64 first = address - kParameterWindow + grid.kernel.parameter_base;
    const std::span<const u8> bank = grid.banks.at(0);
    if (first + sizeof bytes > bank.size()) {
      stop(warp, kConstantAccess, lane, first,
           fmt::format("a tensor map at {:#x} of constant bank 0, which has {:#x} bytes", first,
                       bank.size()));
      return std::nullopt;
    }
    std::memcpy(bytes, bank.data() + first, sizeof bytes);
    return read_tensor_map(bytes);
  }
  for (u32 at = 0; at < sizeof bytes; at += kPart) {
    const u8* from = locate(warp, Space::Generic, lane, address + at, kPart, false);
    if (from == nullptr) return std::nullopt;
    std::memcpy(bytes + at, from, kPart);
  }
  return read_tensor_map(bytes);
}

// A copy of one box. Dimension 0 is next to itself in shared memory, without gaps.
class BoxCopy {
 public:
  BoxCopy(Warp& warp, u32 lane, const TensorMap& map, u32 shared, bool loads)
      : warp_(warp), lane_(lane), map_(map), shared_(shared), loads_(loads) {}

  // `first`: the coordinates of the box's first element, which may be outside. False: the warp is
  // stopped.
  bool run(const std::array<i32, TensorMap::kMostDimensions>& first) {
    const u64 count = map_.box_elements();
    for (u64 i = 0; i < count; ++i) {
      u64 rest = i, address = map_.address;
      bool inside = true;
      for (u32 d = 0; d < map_.rank; ++d) {
        const i64 at = first[d] + static_cast<i64>(rest % map_.box[d] * map_.every[d]);
        rest /= map_.box[d];
        inside &= at >= 0 && static_cast<u64>(at) < map_.size[d];
        address += static_cast<u64>(at) * map_.stride[d];
      }
      if (!copy_element(address, static_cast<u32>(i) * map_.element_bytes, inside)) return false;
    }
    return true;
  }

 private:
  // Elements outside the tensor are read as zero, and not written.
  bool copy_element(u64 address, u32 offset, bool inside) {
    if (!inside && !loads_) return true;
    const u32 bytes = map_.element_bytes;
    u8* shared = locate(warp_, Space::Shared, lane_, map_.swizzled(shared_, offset), bytes, loads_);
    if (shared == nullptr) return false;
    if (!inside) {
      std::memset(shared, 0, bytes);
      return true;
    }
    u8* global = locate(warp_, Space::Global, lane_, address, bytes, !loads_);
    if (global == nullptr) return false;
    std::memcpy(loads_ ? shared : global, loads_ ? global : shared, bytes);
    return true;
  }

  Warp& warp_;
  const u32 lane_;
  const TensorMap& map_;
  const u32 shared_;
  const bool loads_;
};

// The form without multicast and cache hints.
bool is_plain(const Operation& op) {
  return op.field(16, 8) == 0 && op.field(38, 26) == 0 && op.field(64, 15) == 0 &&
         op.field(82, 9) == 0 && op.bit(91) && op.field(79, 3) < TensorMap::kMostDimensions;
}

}  // namespace

// UTMALDG.nD [shared, mbarrier, coordinates], [map]; UTMASTG.nD [shared, coordinates], [map].
Flow copy_box(Warp& warp, const Operation& op) {
  if (!is_plain(op)) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0 || warp.active == 0) return Flow::Next;
  const u32 lane = Warp::first_lane(warp.active);
  const auto word = [&](u32 number) { return warp.rows[kUniformStart + number % 64][lane]; };
  const u32 place = op.field(32, 6), map_at_register = op.field(24, 6);
  const std::optional<TensorMap> map =
      map_at(warp, lane, word(map_at_register) | u64{word(map_at_register + 1)} << 32);
  if (warp.fault.rule != nullptr) return Flow::Stop;
  if (!map || map->rank != op.field(79, 3) + 1) return unknown_instruction(warp, op);
  const u32 shared = word(place);
  if (shared % kAlignment != 0)
    return stop(warp, kMisaligned, lane, shared,
                fmt::format("a box of a tensor at shared address {:#x}, which is no multiple of {}",
                            shared, kAlignment));
  const bool loads = op.opcode->number == kLoad;
  std::array<i32, TensorMap::kMostDimensions> first{};
  for (u32 i = 0; i < map->rank; ++i)
    first[i] = static_cast<i32>(word(place + (loads ? 2 : 1) + i));
  if (!BoxCopy(warp, lane, *map, shared, loads).run(first)) return Flow::Stop;
  if (!loads) return Flow::Next;
  const i64 bytes = static_cast<i64>(map->box_elements() * map->element_bytes);
  return complete_bytes(warp, lane, word(place + 1), bytes) ? Flow::Next : Flow::Stop;
}

}  // namespace doorbell::emu::nvgpu
