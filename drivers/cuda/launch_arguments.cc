// Maps behind the arguments of a command.
#include "drivers/cuda/launch_arguments.h"

#include <cstring>

#include "base/util/try.h"

namespace doorbell::cuda {

Result<void> LaunchArguments::set(const CudaProgram& form) {
  const TensorMaps& maps = form.tensor_maps();
  if (maps.size() == 0) [[likely]]
    return {};
  for (usize i = 0; i < words_.size(); i += 2)
    values_.push_back(const_cast<u32*>(words_.data() + i));
  maps_.resize(maps.size());
  for (usize i = 0; i < maps.size(); ++i) {
    u64 address = 0;
    std::memcpy(&address, words_.data() + 2 * maps.slot(i), sizeof address);
    TRY(maps_[i], form.tensor_map(i, address));
    values_.push_back(maps_[i].bytes);
  }
  return {};
}

}  // namespace doorbell::cuda
