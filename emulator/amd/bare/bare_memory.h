// BareMemory: the memory of a GPU without a kernel driver: its own, and its translations, walked
// from page tables that the client writes. A translation stands from one invalidation to the next,
// and an invalidation sees the tables as they were when the aperture's writes were last flushed:
// the latest that hardware may be.
//
// Thread safety: one thread at a time, but for mapped_now(), which takes what the tables are at the
// moment.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "drivers/amd/hw/bare/page_table.h"
#include "emulator/amd/bare/bus_memory.h"
#include "emulator/amd/kfd/device.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// Where the memory controller has the GPU's memory; what board firmware sets.
inline constexpr u64 kFramebuffer = u64{0x80} << 32;

class BareMemory {
 public:
  BareMemory(Device& device, Checks& checks, BusMemory& bus, u64 bytes, amd::hw::BareChip chip)
      : device_(device), checks_(checks), bus_(&bus), bytes_(bytes), chip_(chip) {}

  u64 bytes() const { return bytes_; }
  // What else it reaches, from its next translations on; borrowed.
  void reach(BusMemory& bus) { bus_ = &bus; }
  u8* at(u64 offset) const { return device_.memory->at(offset); }
  // Of the memory controller's addresses; empty: not all of it is the GPU's memory.
  std::span<u8> find(u64 mc_address, u64 bytes) const;

  // VMID 0's context, when it is set up.
  struct Context {
    u64 table = 0, first_va = 0, last_va = 0;
  };
  void set_context(const Context& context) { context_ = context; }
  bool has_context() const { return context_.last_va != 0; }

  // What the host wrote is here.
  void flush();
  // Translations are what the tables were at the last flush.
  void invalidate(bool may_reach_host);
  // Everything is forgotten.
  void reset();
  // Memory of the process is no longer pinned: nothing may lead there.
  void host_unpinned(const u8* host, u64 bytes);
  // What the tables say of an address now, whatever the TLBs have; empty: nothing is there.
  struct Page {
    u64 va = 0, bytes = 0;
    u8* host = nullptr;
    bool writable = false, executable = false;
    MemoryType type;
    bool operator==(const Page&) const = default;
  };
  const Page* mapped_now(u64 va);

 private:
  std::vector<Page> walk();
  void walk_table(u64 table, unsigned level, u64 va, std::vector<Page>& into);
  void add_page(u64 va, unsigned level, u64 bits, const amd::hw::PageEntry& entry,
                std::vector<Page>& into);
  void map(const Page& page, u64 start, u64 end);

  Device& device_;
  Checks& checks_;
  BusMemory* bus_;  // borrowed
  const u64 bytes_;
  const amd::hw::BareChip chip_;
  Context context_;
  std::vector<Page> flushed_;  // by address
  struct Mapped {
    Page page;
    const Range* range;
  };
  std::vector<Mapped> mapped_;
  std::vector<Page> looked_at_;
  u64 walks_ = 0;
};

}  // namespace doorbell::emu::amdgpu
