// BusMemory: what a GPU of the machine reaches on the bus: memory of the process that is pinned, at
// addresses that have nothing to do with the process's own, and the memory of the other GPUs.
//
// Thread safety: from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

class BusMemory {
 public:
  static constexpr u64 kPage = 4096;

  void pin(u8* host, u64 bytes);
  // At an address that the process chose, through an IOMMU.
  void pin_at(u64 address, u8* host, u64 bytes);
  void unpin(u8* host);
  // What was pinned page by page: whether any of it lies there, and that it goes.
  bool has_pages(const u8* host, u64 bytes) const;
  void unpin_pages(u8* host, u64 bytes);
  // Of a page of the process; empty: it is not pinned. Neighbours in the process need not be
  // neighbours on the bus.
  std::optional<u64> address_of(u64 host_page) const;

  // GPUs reach nothing but what pin_at() has: an IOMMU stands in front of them.
  void use_iommu();
  // A GPU's memory, as other GPUs reach it; in place of what the GPU had.
  void set_window(u64 address, u64 bytes, u8* host, u32 gpu);
  struct Target {
    u8* host = nullptr;
    std::optional<u32> gpu;  // whose memory it is; none: the process's
  };
  // Of a page on the bus; empty: nothing is there.
  std::optional<Target> find(u64 address) const;

 private:
  struct Pinned {
    u8* host = nullptr;
    u64 bytes = 0;
    bool is_scattered = true;
  };
  struct Window {
    u64 address, bytes;
    u8* host;
    u32 gpu;
  };
  mutable std::mutex mutex_;  // guards what follows
  std::map<u64, Pinned> by_address_;
  std::map<const u8*, u64> by_host_;  // -> address
  std::vector<Window> windows_;
  u64 next_ = u64{4} << 30;
  bool has_iommu_ = false;
};

}  // namespace doorbell::emu::amdgpu
