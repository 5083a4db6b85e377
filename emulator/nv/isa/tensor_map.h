// TensorMap: how a tensor lies in global memory, and which box of it a copy of the tensor memory
// accelerator moves, as the 128 bytes of PTX's tensor map say it.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

struct TensorMap {
  static constexpr u32 kBytes = 128, kMostDimensions = 5;

  u64 address = 0;
  u32 rank = 1;
  u32 element_bytes = 1;
  u32 swizzle_units = 1;                      // of 16 bytes in a swizzled row: 8, 4, 2; 1: none
  std::array<u64, kMostDimensions> size{};    // elements; dimension 0 first
  std::array<u64, kMostDimensions> stride{};  // bytes; of dimension 0 an element's
  std::array<u32, kMostDimensions> box{};     // elements that a copy moves
  std::array<u32, kMostDimensions> every{};   // in the tensor, from one of these to the next

  // Elements of the box, those outside the tensor too.
  u64 box_elements() const;
  // The place of byte `offset` of the box in shared memory from `start`.
  u32 swizzled(u32 start, u32 offset) const;
};

// Nothing where what it says is not executed: interleaved layouts, elements that are converted,
// NaN for elements outside, a rank above five.
std::optional<TensorMap> read_tensor_map(std::span<const u8, TensorMap::kBytes> bytes);
// Its 128 bytes; `type` is the number of the elements' type, as tensormap.replace takes it.
std::array<u8, TensorMap::kBytes> write_tensor_map(const TensorMap& map, u32 type);

}  // namespace doorbell::emu::nvgpu
