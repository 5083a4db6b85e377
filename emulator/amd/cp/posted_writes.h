// Writes that a command processor has sent off and does not wait for: WRITE_DATA, COPY_DATA and
// DMA_DATA without their confirmation. They reach memory at some time, in any order except to the
// same address, at the latest with the next confirmed write or end-of-pipe event of their queue.
// Until then reads give the old bytes. Adversarial mode only; GuestMemory sends and lands them, the
// waves' loads ask through Caches. [soc15d.h PACKET3_WRITE_DATA__WR_CONFIRM__DO_NOT_WAIT_FOR_
// WRITE_CONFIRMATION; GPUOpen-Drivers/pal gfx12CmdUtil.h WriteDataInfo::dontWriteConfirm;
// gfx12Barrier.cpp WriteTimestampSync: a confirmed write comes behind all writes before it]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/amd/cp/queue_description.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// Thread safety: none; the GPU's thread.
class PostedWrites {
 public:
  struct Write {
    QueueId queue = 0;
    const Range* range = nullptr;  // that maps it, borrowed from the address space
    u64 va = 0;
    std::vector<u8> bytes;          // 4 or 8, or more of a copy
    std::string what;               // "queue 1 (PM4), ring word 5: WRITE_DATA"
    u32 turns = 0;                  // of its queue, until it lands by itself
    std::vector<u64> dispatches{};  // of its queue, launched behind it (Caches::begin_dispatch())
    bool told = false;

    bool overlaps(u64 start, u64 count) const {
      return va < start + count && start < va + bytes.size();
    }
  };

  explicit PostedWrites(Checks& checks) : checks_(checks) {}

  void add(Write write) { writes_.push_back(std::move(write)); }
  bool empty() const { return writes_.empty(); }
  bool has(QueueId queue) const;
  // A turn of its queue has passed.
  void age(QueueId queue);
  // The queue has launched a dispatch.
  void launched(QueueId queue, u64 dispatch);

  // Takes out the write that must land next so that all of which `which(write)` is true do; nothing
  // when none is left. Writes to one place keep their order.
  template <class Which>
  std::optional<Write> take(Which&& which) {
    for (const Write& wanted : writes_)
      if (which(wanted)) return take_first(wanted.va, wanted.bytes.size());
    return std::nullopt;
  }

  // Bytes are read or changed before a write to them has landed: a later packet of
  // the queue, or a wave of a dispatch that it launched later.
  void judge_packet(QueueId queue, u64 va, u64 bytes);
  void judge_wave(u64 dispatch, const std::string& kernel, u64 va, u64 bytes);

 private:
  Write take_first(u64 va, u64 bytes);
  void report(Write& write, const std::string& who);

  Checks& checks_;
  std::vector<Write> writes_;  // oldest first
};

}  // namespace doorbell::emu::amdgpu
