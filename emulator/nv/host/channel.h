// Channel: a ring of commands and what the host engine knows of it. RM makes and frees channels
// (rm/); host/gpu.h runs them.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/host/method_header.h"
#include "drivers/nv/hw/host/methods.h"
#include "drivers/nv/hw/stream/stream.h"
#include "emulator/core/address_space.h"
#include "emulator/core/races/queue_races.h"
#include "emulator/nv/rm/memory.h"

namespace doorbell::emu::nvgpu {

namespace hw = nv::hw;

// The page tables that channels use; UVM fills them.
struct VaSpace {
  u32 gpu = 0;
  u64 base = 0, end = 0;  // the addresses that may be mapped
  AddressSpace space;
  u32 users = 0;  // channels
};

// Channels that are scheduled together, and stop together.
struct ChannelGroup {
  bool scheduled = false;
  // Why its channels stopped, as nverror.h numbers it; 0: they did not.
  u32 error = 0;
};

// The fault that stopped a group, as a debugger reads it.
struct ChannelFault {
  std::string message;
  bool is_mmu = false;
  bool is_sm = false;  // a multiprocessor stopped
  bool is_write = false;
  u64 address = 0;  // that was accessed, or the instruction's
};

struct Channel {
  u32 id = 0, token = 0;
  std::shared_ptr<VaSpace> va_space;
  std::shared_ptr<ChannelGroup> group;
  u64 ring = 0;  // address of the entries
  u32 entries = 0;
  std::shared_ptr<Memory> userd_memory;  // GP_PUT and GP_GET
  u64 userd_offset = 0;
  std::shared_ptr<Memory> notifier;  // of errors; null: none
  std::set<hw::ClassId> classes;     // whose objects were allocated
  ChannelFault fault;                // if group->error is set and it is this channel's

  // ---- progress
  u32 get = 0, put = 0;     // entries
  u64 at = 0;               // of the pushbuffer
  u32 words = 0;            // left in the segment
  hw::MethodHeader header;  // whose data is at `at`
  u32 data = 0;             // words left of the header
  bool waits = false;       // for `acquire`
  hw::Semaphore acquire;

  // ---- state
  static constexpr u32 kMethods = 0x4000 / 4;
  std::array<hw::ClassId, hw::kSubchannels> bound{};
  std::array<u32, hw::kEngineMethods / 4> host_methods{};
  // Of each subchannel, the values that its class's methods were given; empty before the first.
  std::array<std::vector<u32>, hw::kSubchannels> methods;
  std::vector<u32> inline_data;  // LOAD_INLINE_DATA
  // A descriptor that waits to run.
  struct Grid {
    u64 qmd = 0;
    std::shared_ptr<RaceTask> task;  // null: races are not judged
  };
  std::deque<Grid> grids;
  // LAUNCH_DMA, with the values of the other methods at that time.
  struct Copy {
    std::vector<u32> methods;
    u32 launch = 0;
    QueueRaces::Event races;  // empty: races are not judged
  };
  std::deque<Copy> copies;    // that wait to run
  bool is_unflushed = false;  // a copy was not flushed yet
  hw::StreamReader reader;    // for the trace
  // What a FetchHook asks to be done after the next method.
  struct Method {
    u32 subchannel = 0, method = 0, value = 0;
  };
  std::optional<Method> later;

  // ---- races (core/races); null: they are not judged
  std::unique_ptr<QueueRaces> races;
  u64 fetched = 0, announced = 0;  // entries, all in all

  AddressSpace& space() const { return va_space->space; }
  bool is_idle() const {
    return get == put && words == 0 && data == 0 && !waits && grids.empty() && copies.empty();
  }
};

}  // namespace doorbell::emu::nvgpu
