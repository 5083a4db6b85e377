// The files of an emulated machine with NVIDIA GPUs, in process: device nodes with ioctl and map;
// all other paths are the host's.
#pragma once

#include "base/os/forwarded_files.h"
#include "emulator/nv/machine.h"

namespace doorbell::emu::nvgpu {

class NvFiles final : public os::ForwardedFiles {
 public:
  NvFiles(Machine& machine, os::Files& host) : ForwardedFiles(host), machine_(machine) {}

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  bool exists(const std::string& path) override;

 private:
  Machine& machine_;
};

// The node that a path names: as Machine::open_node() takes it, or kNoNode.
int node_of_path(std::string_view path);

}  // namespace doorbell::emu::nvgpu
