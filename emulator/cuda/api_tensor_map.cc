// Tensor maps. Their format is that of emulator/nv/isa/tensor_map.cc.
#include <algorithm>
#include <bit>
#include <cstring>

#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"
#include "emulator/nv/isa/tensor_map.h"

namespace doorbell::emu::cuda {
namespace {

using nvgpu::TensorMap;

constexpr u64 kUnit = 16, kMostSize = u64{1} << 32, kMostStride = u64{1} << 40;
constexpr u32 kMostBox = 256, kMostStep = 8;

// What is wrong with a dimension; empty: nothing. [CUDA Driver API, cuTensorMapEncodeTiled]
std::string problem_of(const TensorMap& map, u32 i) {
  if (map.size[i] == 0 || map.size[i] > kMostSize)
    return fmt::format("{} elements along dimension {}, 1 to 2^32 are possible", map.size[i], i);
  if (map.box[i] == 0 || map.box[i] > kMostBox)
    return fmt::format("a box of {} elements along dimension {}, 1 to {} are possible", map.box[i],
                       i, kMostBox);
  if (map.every[i] == 0 || map.every[i] > kMostStep)
    return fmt::format("steps of {} elements along dimension {}, 1 to {} are possible",
                       map.every[i], i, kMostStep);
  if (i > 0 && (map.stride[i] % kUnit != 0 || map.stride[i] >= kMostStride))
    return fmt::format("a stride of {:#x} bytes of dimension {}, no multiple of {} below 2^40",
                       map.stride[i], i, kUnit);
  return {};
}

std::string problem_of(const TensorMap& map) {
  if (map.address % kUnit != 0)
    return fmt::format("address {:#x}, which is no multiple of {}", map.address, kUnit);
  for (u32 i = 0; i < map.rank; ++i)
    if (std::string problem = problem_of(map, i); !problem.empty()) return problem;
  const u32 row = map.box[0] * map.element_bytes, most = map.swizzle_units * kUnit;
  if (row % kUnit != 0 || (map.swizzle_units > 1 && row > most))
    return fmt::format("rows of {} bytes in a box, with a swizzle of {}", row, most);
  return {};
}

}  // namespace

int cuTensorMapEncodeTiled(void* map, int type, u32 rank, void* address, const u64* sizes,
                           const u64* strides, const u32* box, const u32* steps, int interleave,
                           int swizzle, int promotion, int fill) {
  // u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16; and their numbers in PTX.
  constexpr u32 kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  constexpr u32 kPtxTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10};
  constexpr int kSwizzles = 4, kPromotions = 4;
  Call call("cuTensorMapEncodeTiled", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (map == nullptr || sizes == nullptr || box == nullptr || steps == nullptr)
    return kInvalidValue;
  if (type < 0 || static_cast<usize>(type) >= std::size(kBytes) || interleave != 0 || fill != 0 ||
      swizzle < 0 || swizzle >= kSwizzles || promotion < 0 || promotion >= kPromotions)
    return kNotSupported;
  if (rank == 0 || rank > TensorMap::kMostDimensions || (rank > 1 && strides == nullptr))
    return call.broken(kTensorMap, kInvalidValue, fmt::format("{} dimensions", rank));
  TensorMap made{.address = reinterpret_cast<u64>(address),
                 .rank = rank,
                 .element_bytes = kBytes[type],
                 .swizzle_units = u32{1} << swizzle};
  for (u32 i = 0; i < rank; ++i) {
    made.size[i] = sizes[i];
    made.stride[i] = i == 0 ? made.element_bytes : strides[i - 1];
    made.box[i] = box[i];
    made.every[i] = steps[i];
  }
  if (const std::string problem = problem_of(made); !problem.empty())
    return call.broken(kTensorMap, kInvalidValue, problem);
  // What a copy moves is every so-many-th element.
  for (u32 i = 0; i < rank; ++i) made.box[i] = (made.box[i] + made.every[i] - 1) / made.every[i];
  const auto bytes = nvgpu::write_tensor_map(made, kPtxTypes[type]);
  std::memcpy(map, bytes.data(), bytes.size());
  return kSuccess;
}

}  // namespace doorbell::emu::cuda
