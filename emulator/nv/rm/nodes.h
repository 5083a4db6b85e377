// The open files of the machine's device nodes. Each is a descriptor of its own, of a file without
// a name, so that it can be told apart from all others however the client passes it on.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "emulator/nv/rm/memory.h"

namespace doorbell::emu::nvgpu {

class UvmSpace;

enum class NodeKind : u8 {
  Control,  // /dev/nvidiactl
  Gpu,      // /dev/nvidiaN
  Uvm,      // /dev/nvidia-uvm
};

struct OpenFile {
  NodeKind kind = NodeKind::Control;
  u32 gpu = 0;
  bool is_registered = false;  // with /dev/nvidiactl
  std::vector<u32> clients;    // allocated through it
  // What mmap() of it maps: RM_MAP_MEMORY says it once.
  std::shared_ptr<Memory> memory;
  u64 offset = 0, bytes = 0;
  std::shared_ptr<UvmSpace> uvm;  // null before UVM_INITIALIZE
};

// Thread safety: none, the machine's mutex guards it.
class Nodes {
 public:
  // A new descriptor, or -1 with errno.
  int open(NodeKind kind, u32 gpu);
  // Null: not one of the machine's. Copies of a descriptor are the same file.
  std::shared_ptr<OpenFile> find(int descriptor) const;
  // Makes the descriptor one of the memory's file, so that whoever maps it gets the memory.
  Result<void> replace(int descriptor, Memory& memory);
  void forget(int descriptor);

 private:
  using FileId = std::pair<u64, u64>;  // device and inode
  static FileId id_of(int descriptor);
  std::map<FileId, std::shared_ptr<OpenFile>> files_;
};

}  // namespace doorbell::emu::nvgpu
