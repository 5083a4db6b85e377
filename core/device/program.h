// Program: a kernel loaded on a device, ready to launch; and Binary, what a compiler hands to
// Device::load. codegen makes binaries; the driver places and relocates them.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/device/buffer.h"
#include "core/device/tensor_map.h"

namespace doorbell::core {

// Code already in this process: an entry point and what keeps it mapped (a JIT's module, a
// library). shared_ptr<void> because the driver must not know which of them it is.
struct LoadedCode {
  void* entry = nullptr;
  std::shared_ptr<void> keep_alive;
};

struct Binary {
  std::string name;       // the symbol of the entry point
  std::vector<u8> image;  // an object for the device, or
  LoadedCode code;        // code that is already loaded (CPU)
  u32 param_count = 0;
  u32 variable_count = 0;
  i64 threads = 1;  // parts that run in parallel on host threads
  // Slots that a second entry point, name + "_images", reads as images; 0: no such entry point.
  u64 image_params = 0;
  i64 grid_groups[3] = {1, 1, 1}, group_items[3] = {1, 1, 1};
  i64 dynamic_shared_bytes =
      0;  // of local memory that a launch gives each group, beside the code's
  std::vector<TensorMap> tensor_maps;  // each an argument behind all others, for such devices
  // What the addresses of buffers must be aligned to, in bytes, if it is more than their elements;
  // and what makes the same kernel without that: from any thread; compiles. Null: there is none.
  i64 param_alignment = 1;
  std::function<Result<Binary>()> unaligned;
};

// One argument: where in a buffer the kernel's memory begins. Borrowed for the launch.
struct BufferView {
  Buffer* buffer = nullptr;
  i64 offset = 0;  // bytes
};

class Program {
 public:
  virtual ~Program() = default;
  // Runs after all that was launched on this device before. `buffers` by slot, `variables` in the
  // kernel's order; both are read before this returns. What the work itself gets wrong is reported
  // by Device::synchronize.
  virtual Result<void> launch(std::span<const BufferView> buffers,
                              std::span<const i64> variables) = 0;
};

}  // namespace doorbell::core
