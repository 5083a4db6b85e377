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

struct OpenFile : std::enable_shared_from_this<OpenFile> {
  OpenFile() = default;
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  NodeKind kind = NodeKind::Control;
  u32 gpu = 0;
  bool is_registered = false;  // with /dev/nvidiactl
  std::vector<u32> clients;    // allocated through it
  // What mmap() of it maps: RM_MAP_MEMORY says it once.
  std::shared_ptr<Memory> memory;
  u64 offset = 0, bytes = 0;
  std::shared_ptr<UvmSpace> uvm;  // null before UVM_INITIALIZE
  // Makes the file ready; -1: it is no file of NV_ESC_ALLOC_OS_EVENT.
  int event_end = -1;
  bool has_event = false;  // since it was polled
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
  // Makes the descriptor one that poll() can wait for.
  Result<void> make_pollable(int descriptor);
  // The next poll() of the file reports an event.
  static void post_event(OpenFile& file);
  // What poll() does when it has waited: true if there was an event, which is gone then.
  // [nv.c nvidia_poll(): of events without data]
  bool take_event(int descriptor) const;
  void forget(int descriptor);

 private:
  using FileId = std::pair<u64, u64>;  // device and inode
  // `file` becomes the descriptor's, as the kernel would have made it so.
  Result<void> become(int descriptor, int other);
  static FileId id_of(int descriptor);
  std::map<FileId, std::shared_ptr<OpenFile>> files_;
};

}  // namespace doorbell::emu::nvgpu
