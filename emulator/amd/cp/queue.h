// One queue of an emulated GPU, of any kind: where it reads, how far it may, and how it stops. See
// pm4_queue.h, aql_queue.h and sdma_queue.h for what its words mean, gpu.h for when it runs.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/stream/stream.h"
#include "emulator/amd/cp/gpu_context.h"
#include "emulator/amd/cp/queue_description.h"
#include "emulator/core/races/queue_races.h"

namespace doorbell::emu::amdgpu {

enum class Step : u8 {
  Moved,    // did something, and may go on
  Waiting,  // for memory that others write
  Idle,     // has read all that was announced, and nothing is in flight
  Stopped,  // for good, after a fault or an exception
};

// What became of a packet.
enum class Outcome : u8 {
  Done,
  Wait,  // it is executed again, until it is done
  Stop,  // the queue has stopped over it
};

// Thread safety: announce() and announced() from any thread, all else from the GPU's.
class Queue {
 public:
  Queue(QueueId id, const QueueDescription& description, GpuContext& gpu)
      : id_(id), description_(as_registers(description)), gpu_(gpu) {
    if (gpu.races) races_.emplace(*gpu.races);
  }
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // A packet, or a slice of what is in flight.
  Step step();
  // UPDATE_QUEUE.
  void update(const QueueDescription& description) {
    description_ = as_registers(description);
    if (description_.percentage == 0) stand_still();
  }
  // Adversarial: takes note of what the packets announced will use. Under the GPU's lock.
  virtual void look_ahead() {}

  // It got or lost its slot in the hardware (runlist.h).
  void note_slot(bool mapped) {
    trace("slot", mapped ? "mapped" : "unmapped");
    if (!mapped) disconnect();
  }
  // What was written while it had none: doorbells of unmapped queues may go unheard.
  void poll_write_pointer() { raise(written()); }

  // What a preemption saves of its waves, one context per XCC: the queue goes on from its own state
  // when it is active again.
  virtual void save_waves(const SaveOptions& options, std::span<SavedContext> xccs) const {
    static_cast<void>(options);
    static_cast<void>(xccs);
  }

  // It is being removed, or memory has been unmapped: rules about what is in flight.
  virtual void judge_end() const {}
  virtual void judge_unmap(u64 start, u64 end) const { static_cast<void>(start + end); }

  // The doorbell's value arrived, by a store of `bytes`: judged here, against the write pointer and
  // what the queue still holds.
  void announce(u64 value, unsigned bytes);
  // In words (PM4), bytes (SDMA) or packets (AQL): one past the last that may be read.
  u64 announced() const { return announced_.load(std::memory_order_acquire); }

  QueueId id() const { return id_; }
  const QueueDescription& description() const { return description_; }
  bool stopped() const { return stopped_; }
  // Of a queue whose last step was Waiting: its place, and what must become of which memory.
  std::string waiting_for() const;
  // The host's bytes of that memory, or null.
  const u8* awaited() const {
    return wait_ ? gpu_.memory.space().at(wait_->va, sizeof(u32), false) : nullptr;
  }

  // ---- For what reads its words: Pm4Interpreter and the other parts.

  // How far it has read, in the units of announced().
  u64 position() const { return read_; }
  // Where it is, for reports.
  struct Place {
    const char* what = nullptr;  // "ring word {}", "IB {1:#x} word {0}"; a literal
    u64 index = 0, base = 0;
  };
  void set_place(const Place& place) { place_ = place; }

  // The queue stops; the client hears of it through the kernel.
  Step stop(MemoryFault fault);
  Step stop(std::string why) { return stop(HwException{.what = std::move(why)}); }
  Step stop(HwException exception);
  // A rule was broken: reported, and true if the queue must stop for it, which it then has.
  bool report_violation(const Check& check, std::string message);

  // Of an indirect buffer; false: the queue has stopped.
  bool check_executable(u64 va);

  // A packet's wait on memory that does not hold yet.
  struct Wait {
    u64 va = 0;
    amd::hw::Compare function = amd::hw::Compare::Equal;
    u64 mask = ~u64{0}, reference = 0;
    u64 value = 0;  // as it is
  };
  void note_wait(const Wait& wait) { wait_ = wait; }
  // The same of 32 bits, which may be too few; told once for each packet of the ring.
  void note_narrow_wait(Client client, const Wait& wait);

  // ---- races with others (emulator/core/races), where they are judged
  QueueRaces* races() { return races_ ? &*races_ : nullptr; }
  // Another packet is executed, of the ring or of a buffer.
  void begin_race_packet(std::string_view name);
  // "WRITE_DATA of GPU 0 queue 3 (PM4), ring word 5".
  std::string race_place(std::string_view what) const;
  // The packet's wait for a word of `bytes` is over.
  void note_wait_over(const Wait& wait, unsigned bytes);
  // `act` as what comes behind all that is in flight now.
  using EndOfPipe = std::function<std::optional<MemoryFault>()>;
  EndOfPipe behind_all(EndOfPipe act);

  std::string where() const;  // the same and its place
  void trace(std::string_view kind, std::string_view text, std::string_view fields = {}) const;
  // A packet by name and fields, if there is a trace; `what` becomes of it.
  void trace_packet(amd::hw::StreamKind kind, std::span<const u32> words,
                    std::string_view what = "packet") const;

 protected:
  virtual Step advance() = 0;
  // The doorbell's value in the units of announced(), and how far behind the queue may be.
  virtual u64 end_of(u64 doorbell) const { return doorbell; }
  virtual u64 capacity() const = 0;
  // Whether a lower value than the last is a broken rule.
  virtual bool doorbells_rise() const { return true; }
  // Why a doorbell's value cannot be in this queue's units, or null.
  virtual const char* wrong_unit(u64 doorbell) const {
    static_cast<void>(doorbell);
    return nullptr;
  }

  // The queue is off the hardware: what was copied of it is read again when it is back.
  virtual void disconnect() {}
  // The client wants it to stand still, and may change what is in the ring.
  virtual void stand_still() { disconnect(); }
  // The queue itself tells its client why it stops. False: it has no way to.
  virtual bool tell_client(const HwException& exception) {
    static_cast<void>(exception);
    return false;
  }

  // As reports and traces name it.
  u32 number() const { return description_.number.value_or(id_); }
  // Of the queue in reports: "queue 3 (PM4)".
  std::string name() const;

  const QueueId id_;
  QueueDescription description_;
  GpuContext& gpu_;
  // How far it has read, in the units of announced(). Whoever announces more compares with it.
  u64 read_ = 0;
  void read_up_to(u64 read) {
    read_ = read;
    free_up_to(read);
  }
  // What is fetched may be overwritten, executed or not.
  void free_up_to(u64 fetched) { read_shared_.store(fetched, std::memory_order_release); }
  Place place_;

 private:
  static QueueDescription as_registers(QueueDescription description);
  void check_doorbell(u64 value, u64 end);
  // announced() is at least this from now on.
  void raise(u64 end);
  u64 written() const;
  // As report_violation(), from any thread: the queue stops at its next step.
  void break_doorbell(const Check& check, std::string message);
  void judge_races();

  std::atomic<u64> announced_{0};
  std::atomic<u64> rung_{0};         // the last doorbell, in the same units
  std::atomic<u64> read_shared_{0};  // read_ or a little ahead, for announce()
  std::atomic<bool> broken_doorbell_{false};
  std::mutex broken_mutex_;  // broken_why_
  std::string broken_why_;
  u64 polled_ = 0;
  std::optional<Wait> wait_;
  std::optional<QueueRaces> races_;
  u64 narrow_told_ = 0;  // one past the position of the packet whose wait was reported
  bool stopped_ = false;
};

}  // namespace doorbell::emu::amdgpu
