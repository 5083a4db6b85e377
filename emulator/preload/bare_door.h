// BareDoor: GPUs that no kernel driver has, inside another program: descriptors for the regions of
// PCI devices, and for the process's page map, which says where its memory lies on the bus. Texts,
// configuration and firmware are files on disk (system_root.h).
//
// Thread safety: from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/amd/machine.h"

namespace doorbell::emu {

class BareDoor {
 public:
  static constexpr int kNoNode = -2;

  // Of a bare machine, which is borrowed; `root` has its files.
  static Result<std::unique_ptr<BareDoor>> make(amdgpu::Machine& machine, usize gpus,
                                                const std::string& root);

  ~BareDoor();

  // Nodes are those of door.h. A descriptor, or -1 with errno.
  int open(int node, int flags) const;
  int node_of(int descriptor) const;
  // Of the page map.
  usize read(int node, void* into, usize bytes, u64 offset);
  // Memory of the process goes.
  void unmapped(void* start, u64 bytes);

 private:
  struct Card;
  struct Node {
    int number;
    int descriptor;
  };
  explicit BareDoor(amdgpu::Machine& machine);
  Result<void> add(usize gpu, const std::string& root);

  amdgpu::Machine& machine_;
  std::vector<std::unique_ptr<Card>> cards_;
  std::vector<Node> nodes_;
};

}  // namespace doorbell::emu
