// Checks a launch against its kernel and its chip, and runs the blocks.
#include "emulator/nv/compute/launch.h"

#include <fmt/format.h>

#include "base/util/try.h"
#include "emulator/nv/compute/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u32 kMostThreads = 1024;  // of a block [CUDA Programming Guide, "Compute Capabilities"]

std::string text(const std::array<u32, 3>& size) {
  return fmt::format("({}, {}, {})", size[0], size[1], size[2]);
}

Result<void> check_launch(const CubinKernel& kernel, const Launch& launch) {
  u64 threads = 1;
  for (const u32 size : launch.block) threads *= size;
  const u64 most = kernel.most_threads != 0 ? kernel.most_threads : kMostThreads;
  if (threads == 0 || threads > most)
    return fail(ErrorKind::Invalid, "kernel {} has blocks of {} threads, at most {} are allowed",
                kernel.name, text(launch.block), most);
  if (kernel.required_block[0] != 0 && kernel.required_block != launch.block)
    return fail(ErrorKind::Invalid, "kernel {} needs blocks of {} threads, not of {}", kernel.name,
                text(kernel.required_block), text(launch.block));
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
    return fail(ErrorKind::Invalid, "the grid {} of kernel {} is empty", text(launch.grid),
                kernel.name);
  if (launch.parameters.size() != kernel.parameter_bytes)
    return fail(ErrorKind::Invalid, "kernel {} takes {} bytes of parameters, not {}", kernel.name,
                kernel.parameter_bytes, launch.parameters.size());
  return {};
}

}  // namespace

std::string to_string(const Fault& fault) {
  return fmt::format("{}+{:#x} ({}), block {}, warp {}, lane {}: {}: {}", fault.kernel, fault.pc,
                     fault.instruction, text(fault.block), fault.warp, fault.lane,
                     fault.rule != nullptr ? fault.rule->id : "no rule", fault.message);
}

Result<LaunchResult> launch(const Cubin& cubin, const CubinKernel& kernel, const Launch& launch,
                            AddressSpace& memory, Checks& checks) {
  TRY(check_launch(kernel, launch));
  static_cast<void>(cubin), static_cast<void>(memory), static_cast<void>(checks);
  LaunchResult result;
  result.fault = Fault{.kernel = kernel.name, .rule = &kUnknownInstruction};
  result.fault->message = "the interpreter executes no instruction yet";
  return result;
}

}  // namespace doorbell::emu::nvgpu
