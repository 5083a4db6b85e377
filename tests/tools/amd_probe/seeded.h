// Seeded: one difference between an emulated GPU and the facts. It stands at both of the driver's
// doors: it changes packets before the queues' processors read them, and what the kernel answers.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "emulator/amd/cp/packet_hook.h"
#include "tests/emulator/mutation/watched_files.h"

namespace doorbell::tools {

class Seeded final : public emu::amdgpu::PacketHook, public testing::FileWatcher {
 public:
  // Of the topology; a number less than 1 divides.
  void scale_property(std::string name, u64 times);
  void scale_clock(u64 times, u64 by);  // of GET_CLOCK_COUNTERS
  void scale_host_clock(u64 times) { host_clock_times_ = times; }
  void narrow_releases();  // RELEASE_MEM of 64 bits writes 32
  void drop_pm4(u32 opcode);
  void drop_sdma(u32 opcode);
  void drop_aql_dependencies();
  void change_fences(u32 by);                 // SDMA's
  void shorten_copies(u32 by, u32 at_least);  // SDMA's, of so many bytes
  void cut_copies(u32 bits);                  // SDMA's counts
  void count_groups_as_items();               // grids, of both kinds of packets
  void halve_local_memory();                  // AQL's
  void share_scratch();                       // XCCs behind each other by a wave's part only
  void move_fault_address(i64 bytes);
  void move_saved_pc(i64 bytes);

  bool happened() const { return happened_; }

  // Between the driver and the machine; borrow this.
  std::unique_ptr<os::Files> wrap(std::unique_ptr<os::Files> files);
  std::unique_ptr<os::Clock> wrap(std::unique_ptr<os::Clock> clock);

  Verdict packet(emu::amdgpu::QueueId queue, emu::amdgpu::QueueKind kind, unsigned ib_depth,
                 std::vector<u32>& words) override;
  Result<int> ioctl(os::File& file, unsigned long request, void* argument) override;
  void mapped(u64 offset, u8* host) override { hosts_[offset] = host; }
  // Of a file of the topology.
  std::string change_text(std::string text);
  u64 host_ns(u64 ns);

 private:
  // What lies where, for changes of memory.
  void note(unsigned long request, const void* argument);
  void shrink_scratch_share();
  void change_saved_waves(const void* argument, i64 bytes);

  using ChangePacket = std::function<bool(emu::amdgpu::QueueKind kind, std::vector<u32>& words)>;

  ChangePacket change_packet_;                                // false: dropped
  std::function<void(unsigned long request)> change_memory_;  // before a call
  std::function<bool(unsigned long request, void* argument)> change_answer_;
  std::map<u64, u64> offsets_;  // of buffers' addresses, in the file
  std::map<u64, u8*> hosts_;    // of offsets
  u64 queue_va_ = 0;            // of the page of an AQL queue
  u64 context_bytes_ = 0;       // of a queue's save area
  std::string property_;
  u64 property_times_ = 1, host_clock_times_ = 1;
  std::atomic<bool> happened_{false};
};

}  // namespace doorbell::tools
