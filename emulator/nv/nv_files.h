// The files of an emulated machine with NVIDIA GPUs, in process: device nodes with ioctl and map;
// all other paths are the host's.
#pragma once

#include "base/os/files.h"
#include "emulator/nv/machine.h"

namespace doorbell::emu::nvgpu {

class NvFiles final : public os::Files {
 public:
  NvFiles(Machine& machine, os::Files& host) : machine_(machine), host_(host) {}

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  Machine& machine_;
  os::Files& host_;
};

// The node that a path names: as Machine::open_node() takes it, or kNoNode.
int node_of_path(std::string_view path);

}  // namespace doorbell::emu::nvgpu
