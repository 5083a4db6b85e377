// The emulated machine as files: /dev/kfd, the render nodes, the topology under /sys; every other
// path is the host's. Doorbell's own driver gets this object; for other programs see
// emulator/preload.
#pragma once

#include <memory>
#include <string>

#include "base/os/forwarded_files.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/topology.h"

namespace doorbell::emu::amdgpu {

// Paths of an emulated machine. Real GPUs of the host are hidden: the machine's folders replace
// theirs.
class SystemTree {
 public:
  explicit SystemTree(SystemFiles files) : files_(std::move(files)) {}

  // The path with links followed.
  std::string resolve(std::string path) const;
  // Whether the path belongs to the machine, even if it does not exist.
  bool owns(const std::string& resolved) const;
  // Null: there is no such file.
  const std::string* find(const std::string& resolved) const;
  bool is_folder(const std::string& resolved) const;
  std::vector<std::string> list(const std::string& resolved) const;
  const SystemFiles& files() const { return files_; }

 private:
  SystemFiles files_;
};

class KfdFiles final : public os::ForwardedFiles {
 public:
  // Both are borrowed and outlive every opened file.
  KfdFiles(Kfd& kfd, os::Files& host);

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;

 private:
  Kfd& kfd_;
  SystemTree tree_;
};

// The files of a machine with these GPUs as a tree, on a host like this one.
SystemTree make_system_tree(std::span<const Slot> slots);

}  // namespace doorbell::emu::amdgpu
