// [CUDA Driver API, "cuTensorMapEncodeTiled"]
#include "drivers/cuda/tensor_maps.h"

#include <algorithm>
#include <bit>

#include "base/util/try.h"

namespace doorbell::cuda {
namespace {

// CUtensorMapDataType: u8, u16, u32 by their bytes; nothing is computed with them.
int data_type(i64 bytes) { return std::countr_zero(static_cast<u64>(bytes)); }

CUresult encode(const Api& api, const core::TensorMap& map, u64 address, EncodedMap* to) {
  constexpr int kNoInterleave = 0, kSwizzle128 = 3, kPromote128 = 2, kZeros = 0;
  constexpr usize kMost = core::TensorMap::kMostDimensions;
  u64 sizes[kMost] = {}, strides[kMost] = {};
  u32 box[kMost] = {}, steps[kMost] = {};
  const usize rank = map.dimensions.size();
  for (usize i = 0; i < rank; ++i) {
    const core::TensorMap::Dimension& d = map.dimensions[i];
    sizes[i] = static_cast<u64>(d.size);
    box[i] = static_cast<u32>(d.box);
    steps[i] = 1;
    if (i > 0) strides[i - 1] = static_cast<u64>(d.stride);
  }
  void* const first = reinterpret_cast<void*>(address + static_cast<u64>(map.offset));
  return api.cuTensorMapEncodeTiled(to->bytes, data_type(map.element_bytes), static_cast<u32>(rank),
                                    first, sizes, strides, box, steps, kNoInterleave, kSwizzle128,
                                    kPromote128, kZeros);
}

}  // namespace

Result<EncodedMap> TensorMaps::get(usize number, u64 address, const Context& context,
                                   const std::string& kernel) const {
  const std::lock_guard lock(mutex_);
  Kept& kept = kept_[number];
  const auto at = std::ranges::find(kept.addresses, address);
  if (at != kept.addresses.end() && address != 0) [[likely]]
    return kept.maps[static_cast<usize>(at - kept.addresses.begin())];
  EncodedMap made{};
  const CUresult result = encode(context.api(), maps_[number], address, &made);
  if (result != kSuccess)
    return context.api().refusal(result, "cuTensorMapEncodeTiled of kernel " + kernel);
  kept.addresses[kept.next] = address;
  kept.maps[kept.next] = made;
  kept.next = (kept.next + 1) % kKept;
  return made;
}

}  // namespace doorbell::cuda
