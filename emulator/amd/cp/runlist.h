// Which queues of a GPU the hardware has in its slots. There are few slots for compute queues; the
// scheduler in firmware maps what the kernel's runlist names, and where that is more than fits,
// each queue for a while in turn: preempted with its waves, and later going on where it was. A
// queue that is mapped again reads its write pointer from memory.
// [drivers/gpu/drm/amd/amdkfd: kfd_packet_manager.c pm_calc_rlib_size(), over_subscription;
// kfd_mqd_manager_v9.c update_mqd(), cp_hqd_pq_wptr_poll_addr]
//
// In adversarial mode slices are of any length, and any queue may lose its slot for a while, as it
// does when another process's queues come or go.
#pragma once

#include <memory>
#include <vector>

#include "base/util/check.h"
#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

// Thread safety: by the GPU's thread only, or under its lock.
class Runlist {
 public:
  struct Member {
    std::unique_ptr<Queue> queue;
    bool mapped = true;
    u32 kept_off = 0;  // turns for which it stays unmapped, whatever is free
    u64 stepped = 0;   // the turn in which it last ran
    Step last = Step::Idle;
  };

  // `slots`: of compute queues; copy engines have one for each queue that the kernel gives.
  Runlist(u32 slots, GpuContext& gpu) : slots_(slots), gpu_(gpu) { CHECK(slots > 0); }

  void add(std::unique_ptr<Queue> queue) { members_.push_back({.queue = std::move(queue)}); }
  bool remove(QueueId id);
  Queue* find(QueueId id) const;
  std::vector<Member>& members() { return members_; }

  // Before the queues run: maps and unmaps.
  void begin_turn();
  // A mapped queue ran.
  void stepped(Member& member, Step step);
  // Something outside may let a queue go on that could not.
  void stir() { moved_in_ = turn_; }
  // Some queue has not run since anything moved: none may sleep.
  bool is_unsettled() const;
  // Some queue polls memory.
  bool is_waiting() const;

 private:
  static bool wants_slot(const Member& member);
  void share_slots();
  void disturb();
  void set(Member& member, bool mapped);

  const u32 slots_;
  GpuContext& gpu_;
  std::vector<Member> members_;  // by id
  u64 turn_ = 0, moved_in_ = 0;
  QueueId first_ = 0;   // of the slice: it and those after it are mapped
  u32 slice_left_ = 0;  // turns
};

}  // namespace doorbell::emu::amdgpu
