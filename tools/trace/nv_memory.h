// NvClientMemory: where a client's memory lies for its GPUs and for its process, as its calls of RM
// and UVM and its mappings say, and reading it by GPU addresses.
//
// Thread safety: none, the recorder's mutex guards it.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/util/types.h"

namespace doorbell::tools {

// An object of RM's: its client and its handle.
using RmKey = std::pair<u32, u32>;

class NvClientMemory {
 public:
  // RM_MAP_MEMORY: what the next mmap() of the descriptor maps.
  void prepare(int descriptor, RmKey memory, u64 offset, u64 bytes);
  // True for a descriptor that was prepared.
  bool map_host(int descriptor, u64 address, u64 bytes);
  // Memory that the process had before it was an object of RM's.
  void add_host(RmKey memory, u64 address, u64 bytes);
  void unmap_host(u64 address, u64 bytes);

  void map_gpu(u64 address, u64 bytes, RmKey memory, u64 offset);
  void unmap_gpu(u64 address);

  // Where the process has this part of an object; nothing: it has not.
  std::optional<u64> host_of(RmKey memory, u64 offset, u64 bytes) const;
  // By a GPU address; where no call that is known has mapped it, at the same address of the
  // process, because CUDA gives memory the same on both. Nothing for memory that the process cannot
  // read.
  std::optional<std::vector<std::byte>> read(u64 address, u64 bytes) const;
  // At an address of the process.
  std::optional<std::vector<std::byte>> read_host(u64 address, u64 bytes) const;

 private:
  struct Part {
    u64 bytes = 0;
    RmKey memory;
    u64 offset = 0;  // in the object
  };
  std::map<int, Part> prepared_;  // by descriptor
  std::map<u64, Part> host_;      // by address in the process
  std::map<u64, Part> gpu_;       // by GPU address
};

}  // namespace doorbell::tools
