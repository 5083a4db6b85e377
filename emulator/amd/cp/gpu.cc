// The scheduler of an emulated GPU (gpu.h).
#include "emulator/amd/cp/gpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "emulator/amd/cp/caches.h"
#include "emulator/amd/cp/make_queue.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/cp/runlist.h"

namespace doorbell::emu::amdgpu {

namespace {

void spin() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

class Gpu::Impl {
 public:
  explicit Impl(const GpuOptions& options)
      : options_(options),
        caches_(options.adversarial
                    ? std::make_unique<Caches>(cache_shape(options.generation, options.xccs),
                                               *options.checks)
                    : nullptr),
        context_(*options.memory, caches_.get()),
        runlist_(options.compute_slots, context_) {
    context_.memory.track(options.undefined);
    context_.memory.show(options.observer);
    context_.generation = options.generation;
    context_.xccs = options.xccs;
    context_.engines = options.engines;
    context_.compute_units = options.compute_units;
    context_.waves_per_unit = options.waves_per_unit;
    context_.scratch_reclaim = options.scratch_reclaim;
    context_.lds_unit = options.lds_unit;
    context_.lds_bytes = options.lds_bytes;
    context_.index = options.index;
    context_.launcher = options.launcher;
    context_.checks = options.checks;
    context_.trace = options.trace;
    context_.hook = options.hook;
    context_.races = options.races;
    context_.adversarial = options.adversarial;
    context_.hang_after = options.hang_after;
    context_.random.seed(options.seed);
    if (options.lockstep) {
      context_.clock = [this] { return virtual_time_; };
    } else {
      context_.clock = [] {
        return static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                    std::chrono::steady_clock::now().time_since_epoch())
                                    .count()) /
               10;
      };
      thread_ = std::thread([this] { run(); });
    }
  }

  ~Impl() {
    quit_.store(true);
    wake();
    if (thread_.joinable()) thread_.join();
  }

  Result<QueueId> add(const QueueDescription& description) {
    QueueId id = next_id_.fetch_add(1);
    std::unique_ptr<Queue> queue = make_queue(id, description, context_);
    Visit visit(*this);
    std::lock_guard doors(doors_);
    runlist_.add(std::move(queue));
    note_wave_sync();
    if (description.polled_doorbell) polled_.store(true);
    wake();
    return id;
  }

  Result<void> remove(QueueId id) {
    Visit visit(*this);
    std::lock_guard doors(doors_);
    if (const Queue* queue = runlist_.find(id)) queue->judge_end();
    context_.memory.serve(id);
    context_.memory.land();
    if (!runlist_.remove(id)) return fail(ErrorKind::NotFound, "no queue {}", id);
    note_wave_sync();
    return {};
  }

  Result<void> update(QueueId id, const QueueDescription& description) {
    Visit visit(*this);
    std::lock_guard doors(doors_);
    Queue* queue = runlist_.find(id);
    if (!queue) return fail(ErrorKind::NotFound, "no queue {}", id);
    queue->update(description);
    note_wave_sync();
    wake();
    return {};
  }

  Result<std::vector<SavedContext>> save_waves(QueueId id, const SaveOptions& options) {
    Visit visit(*this);
    std::lock_guard doors(doors_);
    const Queue* queue = runlist_.find(id);
    if (!queue) return fail(ErrorKind::NotFound, "no queue {}", id);
    const QueueDescription& description = queue->description();
    std::vector<SavedContext> contexts(context_.xccs);
    for (SavedContext& context : contexts) {
      // The header, the stack and the state share it.
      const u64 header = sizeof(amd::hw::ContextSaveHeader);
      const u64 stack = description.control_stack_bytes, all = description.context_save_bytes;
      context.stack_room = stack - std::min(stack, header);
      context.state_room = all - std::min(all, stack);
    }
    queue->save_waves(options, contexts);
    return contexts;
  }

  void ring(QueueId id, u64 value, unsigned bytes) {
    {
      // What is announced is looked at before the client goes on.
      std::optional<Visit> visit;
      if (caches_) visit.emplace(*this);
      std::lock_guard doors(doors_);
      HookVerdict verdict = HookVerdict::Take;
      if (options_.hook) verdict = options_.hook->doorbell(id, value);
      if (verdict == HookVerdict::Skip) return;
      if (Queue* queue = runlist_.find(id)) {
        queue->announce(value, bytes);
        if (verdict == HookVerdict::Again) queue->announce(value, bytes);
        if (caches_) queue->look_ahead();
      } else
        options_.checks->report(kDoorbellOfNobody,
                                fmt::format("{:#x} stored at the doorbell of queue {}, which is "
                                            "none",
                                            value, id));
    }
    wake();
  }

  void wake() {
    stirred_.store(true, std::memory_order_release);
    wakes_.fetch_add(1, std::memory_order_release);
    wakes_.notify_one();
  }

  void unmapped(u64 start, u64 end) {
    Visit visit(*this);
    for (const Runlist::Member& member : runlist_.members()) member.queue->judge_unmap(start, end);
    context_.memory.land_in(start, end);
    if (caches_) caches_->forget(start, end);
  }

  bool run_once() {
    Pass done = pass();
    return done.moved || done.unsettled;
  }

  Rest run_until_rest(u64 patience) {
    // Memory that a queue without a slot polls may have changed.
    stirred_.store(true, std::memory_order_relaxed);
    {
      std::lock_guard lock(running_);
      context_.spun = 0;
    }
    Pass done{.unsettled = true};
    bool moved = false;
    while (done.moved || done.unsettled) {
      done = pass();
      moved |= done.moved;
      if (done.spun > patience) return Rest::Busy;
    }
    return moved ? Rest::Moved : Rest::Idle;
  }

  std::vector<Wait> waits() {
    Visit visit(*this);
    std::vector<Wait> all;
    for (const Runlist::Member& member : runlist_.members())
      if (member.last == Step::Waiting)
        all.push_back({fmt::format("GPU {} {}", options_.index, member.queue->waiting_for()),
                       member.queue->awaited()});
    return all;
  }

  std::string unwritten(const u8* memory, u64 bytes) {
    Visit visit(*this);
    return caches_ ? describe(caches_->find_unwritten(memory, bytes)) : "";
  }
  std::string unwritten_host_memory() {
    Visit visit(*this);
    return caches_ ? describe(caches_->dirty_host_memory()) : "";
  }

  Caches* caches() { return caches_.get(); }

 private:
  // Access of other threads to the GPU's state. Keeps the GPU's thread from taking the lock again
  // at once, because mutexes are not fair.
  class Visit {
   public:
    explicit Visit(Impl& gpu) : gpu_(gpu) {
      gpu_.visitors_.fetch_add(1);
      gpu_.running_.lock();
    }
    ~Visit() {
      gpu_.running_.unlock();
      gpu_.visitors_.fetch_sub(1);
    }

   private:
    Impl& gpu_;
  };

  std::string describe(const std::optional<Caches::Unwritten>& left) const {
    return left ? fmt::format("on GPU {} {}", options_.index, caches_->describe(*left)) : "";
  }

  void note_wave_sync() {
    context_.has_wave_sync = std::ranges::any_of(
        runlist_.members(),
        [](const Runlist::Member& member) { return member.queue->description().wave_sync; });
  }

  struct Pass {
    bool moved = false;
    bool unsettled = false;  // some queue has not had a turn since anything moved
    bool waiting = false;    // some queue polls memory
    u64 spun = 0;            // as the context has it
  };

  // Every queue that has a slot has its turn once; then interrupts, with no lock held.
  Pass pass() {
    Pass result;
    std::vector<Interrupt> interrupts;
    {
      std::lock_guard lock(running_);
      if (stirred_.exchange(false, std::memory_order_acquire)) runlist_.stir();
      runlist_.begin_turn();
      std::vector<Runlist::Member>& members = runlist_.members();
      usize first = context_.adversarial ? context_.random() : next_;
      for (usize i = 0; i < members.size(); ++i) {
        ++virtual_time_;
        next_ = first + i + 1;
        Runlist::Member& member = members[(first + i) % members.size()];
        if (!member.mapped) continue;
        Step step = member.queue->step();
        runlist_.stepped(member, step);
        result.moved |= step == Step::Moved;
        // A stop is an event, and happens once: its interrupt is waiting to be delivered.
        if (!context_.interrupts.empty()) break;
      }
      result.waiting = runlist_.is_waiting();
      result.spun = context_.spun;
      result.unsettled = runlist_.is_unsettled();
      interrupts.swap(context_.interrupts);
    }
    for (const Interrupt& interrupt : interrupts) deliver(interrupt);
    result.moved |= !interrupts.empty();
    return result;
  }

  void deliver(const Interrupt& interrupt) {
    if (auto* event = std::get_if<EventInterrupt>(&interrupt))
      options_.interrupts->signal(event->context_id, event->valid_bits);
    else if (auto* fault = std::get_if<MemoryFault>(&interrupt))
      options_.interrupts->memory_fault(*fault);
    else
      options_.interrupts->hw_exception(std::get<HwException>(interrupt));
  }

  void run() {
    u32 turn = 0;
    while (!quit_.load(std::memory_order_acquire)) {
      u32 wakes = wakes_.load(std::memory_order_acquire);
      while (visitors_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
      Pass done = pass();
      if (done.moved || done.unsettled)
        turn = 0;
      else if (done.waiting || polled_.load(std::memory_order_relaxed))
        relax(turn++);
      else
        sleep(wakes, turn);
    }
  }

  // While memory is polled whose changes are not signalled: quick at first, because a fence or a
  // doorbell is mostly near; then ever less often, to leave the processor to others.
  static void relax(u32 turn) {
    if (turn < 1000)
      spin();
    else if (turn < 1500)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(turn < 5000 ? 20 : 100));
  }

  // Until a doorbell or a change of the queues. Submissions follow each other within microseconds,
  // and waking a thread may cost forty: so it looks for some 100 us first.
  void sleep(u32 wakes, u32& turn) {
    constexpr u32 kSpins = 8000;
    if (turn < kSpins) {
      spin();
      ++turn;
      return;
    }
    wakes_.wait(wakes, std::memory_order_acquire);
    turn = 0;
  }

  const GpuOptions options_;
  std::unique_ptr<Caches> caches_;
  GpuContext context_;  // under running_
  std::mutex running_;  // one pass at a time
  std::mutex doors_;    // the queues in runlist_, under running_ too
  Runlist runlist_;     // under running_
  usize next_ = 0;      // whose turn it is; under running_
  std::atomic<QueueId> next_id_{0};
  std::atomic<int> visitors_{0};
  std::atomic<u32> wakes_{0};
  std::atomic<bool> quit_{false}, polled_{false};
  std::atomic<bool> stirred_{false};  // a doorbell or a change since the last pass
  u64 virtual_time_ = 0;              // lockstep's, in ticks of the clock; under running_
  std::thread thread_;
};

Gpu::Gpu(const GpuOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Gpu::~Gpu() = default;

Result<QueueId> Gpu::add_queue(const QueueDescription& description) {
  return impl_->add(description);
}
Result<void> Gpu::remove_queue(QueueId id) { return impl_->remove(id); }
Result<void> Gpu::update_queue(QueueId id, const QueueDescription& description) {
  return impl_->update(id, description);
}
Result<std::vector<SavedContext>> Gpu::save_waves(QueueId id, const SaveOptions& options) const {
  return impl_->save_waves(id, options);
}
void Gpu::ring(QueueId id, u64 value, unsigned bytes) { impl_->ring(id, value, bytes); }
void Gpu::poke() { impl_->wake(); }
bool Gpu::run_once() { return impl_->run_once(); }
std::vector<Gpu::Wait> Gpu::waits() { return impl_->waits(); }
std::string Gpu::unwritten(const u8* memory, u64 bytes) { return impl_->unwritten(memory, bytes); }
std::string Gpu::unwritten_host_memory() { return impl_->unwritten_host_memory(); }
Gpu::Rest Gpu::run_until_rest(u64 patience) { return impl_->run_until_rest(patience); }
void Gpu::unmapped(u64 start, u64 end) { impl_->unmapped(start, end); }
Caches* Gpu::caches() { return impl_->caches(); }

Gpu::Rest run_until_rest(std::span<Gpu* const> gpus, u64 patience) {
  Gpu::Rest all = Gpu::Rest::Idle;
  for (bool again = true; again;) {
    again = false;
    bool busy = false;
    for (Gpu* gpu : gpus) {
      const Gpu::Rest rest = gpu->run_until_rest(patience);
      again |= rest == Gpu::Rest::Moved;
      busy |= rest == Gpu::Rest::Busy;
      if (rest != Gpu::Rest::Idle) all = Gpu::Rest::Moved;
    }
    if (busy) return Gpu::Rest::Busy;
  }
  return all;
}

}  // namespace doorbell::emu::amdgpu
