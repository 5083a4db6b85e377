// The fields of a tensor map. NVIDIA calls its bytes opaque, but compilers make of PTX's
// tensormap.replace instructions that change one field each: this layout has their addresses,
// shifts and masks. [PTX ISA, "tensormap.replace" and "Tensors"; nvdisasm's text of what NVRTC 13
// compiles for each field] It is that of libcuda's words, too, in which more bits are set, whose
// readers are not known. [cicuvc/nvidia-sass-document, notes/sm90/arch/cutensormap.md]
//   byte 0x00   u64   global address
//   byte 0x08   bits 4 to 6 rank - 1; 7 to 10 type of elements; 11 and 12 interleaved layout;
//               13 and 14 swizzle: none, 32, 64, 128 bytes; 15 elements outside are NaN
//   byte 0x0c   u32   four strides / 16, of dimensions 1 to 4; their bits 32 to 35 in byte 0x1c
//   byte 0x20   u32   five sizes - 1
//   byte 0x34   bits 0 to 14 five element strides - 1, three bits each; 24 to 31 the box of
//               dimension 0, - 1
//   byte 0x38   bytes: the boxes of dimensions 1 to 4, - 1
#include "emulator/nv/isa/tensor_map.h"

#include <bit>
#include <cstring>

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kUnit = 16;  // bytes that swizzling moves

// u8, u16, u32, s32, u64, s64, f16, f32, -, f64, bf16; 0: not executed (.ftz, tf32, packed ones).
constexpr u32 kElementBytes[16] = {1, 2, 4, 4, 8, 8, 2, 4, 0, 8, 2};

}  // namespace

u64 TensorMap::box_elements() const {
  u64 count = 1;
  for (u32 i = 0; i < rank; ++i) count *= box[i];
  return count;
}

u32 TensorMap::swizzled(u32 start, u32 offset) const {
  const u32 address = start + offset;
  return address ^ (((address >> 7) & (swizzle_units - 1)) * kUnit);
}

std::optional<TensorMap> read_tensor_map(std::span<const u8, TensorMap::kBytes> bytes) {
  const auto word = [&](u32 at) {
    u32 value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  const u32 form = word(0x08), boxes = word(0x34);
  TensorMap map{.address = word(0) | u64{word(4)} << 32,
                .rank = (form >> 4 & 7) + 1,
                .element_bytes = kElementBytes[form >> 7 & 15],
                .swizzle_units = 1u << (form >> 13 & 3)};
  const bool interleaves = (form >> 11 & 3) != 0, fills_with_nan = (form >> 15 & 1) != 0;
  if (interleaves || fills_with_nan || map.element_bytes == 0) return std::nullopt;
  if (map.rank > TensorMap::kMostDimensions) return std::nullopt;
  for (u32 i = 0; i < map.rank; ++i) {
    map.size[i] = u64{word(0x20 + 4 * i)} + 1;
    map.stride[i] = map.element_bytes;
    if (i != 0)
      map.stride[i] = (word(0x0c + 4 * (i - 1)) | u64{word(0x1c) >> 4 * (i - 1) & 15} << 32) << 4;
    // TMA has no element stride for dimension 0. [CUDA driver API, cuTensorMapEncodeTiled]
    map.every[i] = i == 0 ? 1 : (boxes >> 3 * i & 7) + 1;
    const u32 box = (i == 0 ? boxes >> 24 : u32{bytes[0x38 + i - 1]}) + 1;
    map.box[i] = (box + map.every[i] - 1) / map.every[i];
  }
  return map;
}

std::array<u8, TensorMap::kBytes> write_tensor_map(const TensorMap& map, u32 type) {
  std::array<u8, TensorMap::kBytes> bytes{};
  const auto put = [&](u32 at, u64 value, u32 count) {
    std::memcpy(bytes.data() + at, &value, count);
  };
  const u32 swizzle = static_cast<u32>(std::countr_zero(map.swizzle_units));
  u32 strides_high = 0, every = 0;
  put(0, map.address, 8);
  put(0x08, (map.rank - 1) << 4 | type << 7 | swizzle << 13, 4);
  for (u32 i = 0; i < map.rank; ++i) {
    put(0x20 + 4 * i, map.size[i] - 1, 4);
    every |= (map.every[i] - 1) << 3 * i;
    if (i == 0) continue;
    put(0x0c + 4 * (i - 1), map.stride[i] / kUnit, 4);
    strides_high |= static_cast<u32>(map.stride[i] / kUnit >> 32) << 4 * (i - 1);
    put(0x38 + i - 1, map.box[i] * map.every[i] - 1, 1);
  }
  put(0x1c, strides_high, 4);
  put(0x34, every | (map.box[0] - 1) << 24, 4);
  return bytes;
}

}  // namespace doorbell::emu::nvgpu
