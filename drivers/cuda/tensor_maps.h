// TensorMaps: the tensor maps of a program, as libcuda encodes them for the addresses of buffers;
// only it knows their format. What was encoded last is kept, so that launches with the buffers of
// launches before, and nodes of graphs, encode nothing.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "core/device/tensor_map.h"
#include "drivers/cuda/context.h"

namespace doorbell::cuda {

struct alignas(kTensorMapAlignment) EncodedMap {
  u8 bytes[kTensorMapBytes];
};

class TensorMaps {
 public:
  explicit TensorMaps(const std::vector<core::TensorMap>& maps) : maps_(maps), kept_(maps.size()) {}

  usize size() const { return maps_.size(); }
  // Of the buffer that map `number` is for, among the arguments of the kernel.
  usize slot(usize number) const { return static_cast<usize>(maps_[number].slot); }
  // Map `number` for its buffer at `address`; `kernel` is for messages.
  Result<EncodedMap> get(usize number, u64 address, const Context& context,
                         const std::string& kernel) const;

 private:
  // A few, since buffers take turns.
  static constexpr usize kKept = 4;
  struct Kept {
    std::array<u64, kKept> addresses{};  // of buffers; 0: none
    std::array<EncodedMap, kKept> maps{};
    usize next = 0;  // that is replaced
  };

  const std::vector<core::TensorMap> maps_;
  mutable std::mutex mutex_;        // guards kept_
  mutable std::vector<Kept> kept_;  // by map
};

}  // namespace doorbell::cuda
