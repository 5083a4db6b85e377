// The process's events: slots that GPUs write, waits that block, and the payloads of faults, as
// drivers/gpu/drm/amd/amdkfd/kfd_events.c has them. See ioctls.cc for the structs of the ioctls.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// [uapi/linux/kfd_ioctl.h KFD_IOC_EVENT_*]
enum class EventType : u32 { Signal = 0, HwException = 3, Debug = 5, Memory = 8 };

struct MemoryException {
  u32 gpu_id = 0;
  u64 va = 0;
  bool not_present = false, read_only = false, no_execute = false, imprecise = false;
};

struct HardwareException {
  u32 gpu_id = 0;
  u32 reset_type = 0;   // 0: the whole GPU
  u32 reset_cause = 0;  // 0: it hung
  bool memory_lost = false;
};

// One event of a wait.
struct EventWait {
  u32 id = 0;
  u64 last_age = 0;  // in: 0, or the last age seen; out: the current age, unless 0 was passed
  // Out:
  bool activated = false;
  EventType type = EventType::Signal;
  MemoryException memory;
  HardwareException hardware;
};

// [uapi/linux/kfd_ioctl.h KFD_IOC_WAIT_RESULT_*]
enum class WaitResult : u32 { Complete = 0, Timeout = 1, Fail = 2 };

// Thread safety: from any thread. Functions that return int give 0 or an errno.
class Events {
 public:
  static constexpr u32 kSlots = 4096;  // KFD_SIGNAL_EVENT_LIMIT
  static constexpr u64 kUnsignaled = ~u64{0};

  explicit Events(Checks& checks) : checks_(checks) {}

  // The client's own buffer for the slots, instead of the kernel's page.
  int set_page(u8* host, u64 bytes);
  // The page that was set; otherwise the kernel's, of kSlots * 8 bytes, made at the first use.
  bool has_page() const;

  int create(u32 type, bool auto_reset, u32& id);
  int destroy(u32 id);
  int set(u32 id);
  int reset(u32 id);
  int wait(std::span<EventWait> waits, bool all, u32 timeout_ms, WaitResult& result);

  // Called by GPUs.
  void interrupt(u32 partial_id, unsigned valid_bits);
  void memory_exception(const MemoryException& exception);
  void hardware_exception(const HardwareException& exception);

  // Lockstep: instead of blocking, waits call `advance` until it reports no progress; a call in
  // which waves only ran counts as a millisecond. A wait that ends calls `pass`, which may be null,
  // with the elapsed time.
  // `waits`, which may be null, describes what the machine's queues wait for; its argument has the
  // slots of the events that the host waits for.
  using Slots = std::span<const u64* const>;
  enum class Advance : u8 { Still, Moved, Busy };
  void set_advance(std::function<Advance()> advance,
                   std::function<void(u64 time_ns)> pass = nullptr,
                   std::function<std::string(Slots)> waits = nullptr) {
    advance_ = std::move(advance);
    pass_ = std::move(pass);
    waits_ = std::move(waits);
  }
  // The process ends: every wait fails.
  void shut_down();

 private:
  struct Event {
    u32 id = 0;
    EventType type = EventType::Signal;
    bool auto_reset = false, signaled = false;
    bool slot_seen = false;  // written when an interrupt came
    u64 age = 1;
    u32 waiters = 0;
    MemoryException memory;
    HardwareException hardware;
  };
  struct Waiter;

  void signal(Event& event);
  void from_interrupt(Event& event);
  bool slot_signaled(u32 id) const;
  Event* find(u32 id);
  int start(std::span<EventWait> waits, std::vector<Waiter>& waiters);
  WaitResult judge(const std::vector<Waiter>& waiters, bool all) const;
  int finish(std::span<EventWait> waits, std::vector<Waiter>& waiters, WaitResult result);
  WaitResult block(std::unique_lock<std::mutex>& lock, const std::vector<Waiter>& waiters, bool all,
                   u32 timeout_ms);
  void report_for_ever(std::unique_lock<std::mutex>& lock, const std::vector<Waiter>& waiters);
  void report(const Check& check, std::string message);
  // The errno of an ioctl.
  int refuse(const Check& check, int why, std::string message);
  int no_slot(u64 most);

  Checks& checks_;
  std::function<Advance()> advance_;
  std::function<void(u64)> pass_;
  std::function<std::string(Slots)> waits_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::map<u32, std::unique_ptr<Event>> events_;
  std::vector<std::vector<Waiter>*> waiting_;  // of threads in wait()
  u64* slots_ = nullptr;
  u64 slot_count_ = 0;
  std::unique_ptr<u64[]> own_slots_;
  u32 signal_events_ = 1;  // slot 0 is unused
  bool gone_ = false;
};

}  // namespace doorbell::emu::amdgpu
