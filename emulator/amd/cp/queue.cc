// Doorbells and stops, which all kinds of queues share (queue.h).
#include "emulator/amd/cp/queue.h"

#include "base/util/error.h"
#include "emulator/amd/cp/compare.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

// The kernel puts a client's addresses into registers as they are, and those have no low bits.
// [asic_reg CP_HQD_PQ_RPTR_REPORT_ADDR 31:2, CP_HQD_PQ_WPTR_POLL_ADDR 31:3, SDMA0_QUEUE0_RB_RPTR_
// ADDR_LO 31:2; kfd_mqd_manager_v11.c update_mqd]
QueueDescription Queue::as_registers(QueueDescription description) {
  description.read_pointer &= ~u64{3};
  description.write_pointer &= ~u64{7};
  return description;
}

std::string Queue::name() const {
  constexpr const char* kKinds[] = {"PM4", "AQL", "SDMA"};
  return fmt::format("queue {} ({})", number(), kKinds[static_cast<usize>(description_.kind)]);
}

std::string Queue::where() const {
  if (!place_.what) return name();
  return name() + ", " + fmt::format(fmt::runtime(place_.what), place_.index, place_.base);
}

void Queue::trace(std::string_view kind, std::string_view text, std::string_view fields) const {
  if (gpu_.trace && gpu_.trace->enabled())
    gpu_.trace->write({.kind = kind,
                       .gpu = gpu_.index,
                       .queue = static_cast<int>(number()),
                       .text = text,
                       .fields = fields});
}

void Queue::trace_packet(hw::StreamKind kind, std::span<const u32> words,
                         std::string_view what) const {
  if (!gpu_.trace || !gpu_.trace->enabled()) return;
  const StreamPacket packet = hw::read_packet(kind, gpu_.generation, words);
  trace(what, to_text(packet), to_json(packet));
}

bool Queue::report_violation(const Check& check, std::string message) {
  std::string full = fmt::format("{}: {}", where(), message);
  if (gpu_.checks->report(check, full) != Level::Error) return false;
  stop(HwException{.what = fmt::format("{} ({}): {}", check.id, check.rule, message),
                   .judged = true});
  return true;
}

// ROCr, Mesa and tinygrad allocate buffers for packets as executable memory. No source says that
// hardware refuses other memory, so the queue goes on unless the rule is an error.
bool Queue::check_executable(u64 va) {
  const Range* range = gpu_.memory.space().find(va);
  return !range || range->executable ||
         !report_violation(kIbExecutable, fmt::format("an indirect buffer at {:#x}, {}", va,
                                                      gpu_.memory.space().describe(va)));
}

// The lower half of a 64-bit count that has passed 2^32 looks as if it had not come far.
void Queue::note_narrow_wait(Client client, const Wait& wait) {
  note_wait(wait);
  bool upwards =
      wait.function == hw::Compare::GreaterEqual || wait.function == hw::Compare::Greater;
  u32 upper = 0;
  if (!upwards || wait.mask != ~u32{0} || wait.va % 8 != 0 || narrow_told_ == read_ + 1 ||
      gpu_.memory.load(client, wait.va + 4, upper) || upper == 0)
    return;
  narrow_told_ = read_ + 1;
  gpu_.checks->report(kNarrowWait,
                      fmt::format("{}: waits for {:#x} at {:#x}, the lower half of 64 bits whose "
                                  "upper half is {:#x}",
                                  where(), wait.reference, wait.va, upper),
                      Level::Warn);
}

std::string Queue::waiting_for() const {
  if (!wait_) return where() + " waits for work of its own";
  return fmt::format("{} waits until {:#x} & {:#x} at {:#x} is {} {:#x}", where(), wait_->value,
                     wait_->mask, wait_->va, hw::name_of(wait_->function), wait_->reference);
}

Step Queue::stop(MemoryFault fault) {
  stopped_ = true;
  fault.queue = id_;
  fault.what = fmt::format("{}: {}", where(), fault.what);
  trace("fault", fault.what);
  gpu_.interrupts.emplace_back(std::move(fault));
  return Step::Stopped;
}

Step Queue::stop(HwException exception) {
  if (stopped_) return Step::Stopped;
  stopped_ = true;
  exception.queue = id_;
  exception.what = fmt::format("{}: {}", where(), exception.what);
  trace("fault", exception.what);
  // The kernel's door knows why before the client hears of it.
  const auto at = static_cast<std::ptrdiff_t>(gpu_.interrupts.size());
  exception.told = tell_client(exception);
  gpu_.interrupts.insert(gpu_.interrupts.begin() + at, std::move(exception));
  return Step::Stopped;
}

Step Queue::step() {
  if (stopped_) return Step::Stopped;
  if (description_.percentage == 0 || description_.ring == 0) return Step::Idle;
  if (description_.polled_doorbell) {
    u64 value =
        __atomic_load_n(const_cast<const u64*>(description_.polled_doorbell), __ATOMIC_ACQUIRE);
    // A first packet numbered 0 leaves the doorbell as it was created: the write pointer tells.
    bool first = value == 0 && announced() == 0 && end_of(0) != 0 && written() != 0;
    if (value != polled_ || first) {
      polled_ = value;
      announce(value, 8);
    }
  }
  if (broken_doorbell_.load(std::memory_order_acquire)) {
    std::string why;
    {
      std::lock_guard lock(broken_mutex_);
      why = broken_why_;
    }
    return stop(HwException{.what = std::move(why), .judged = true});
  }
  // What a client writes must never end the emulator's process, not even through a mistake of ours:
  // nothing above this thread would catch it.
  wait_.reset();
  gpu_.memory.serve(id_);
  const ActingAs processor(gpu_.memory, races_ ? &races_->processor() : nullptr);
  try {
    look_ahead();
    Step step = advance();
    if (races_) judge_races();
    return stopped_ ? Step::Stopped : step;
  } catch (const InternalError& error) {
    return stop(fmt::format("the emulator failed: {}", error.what()));
  }
}

void Queue::judge_races() {
  for (std::string& what : gpu_.memory.take_races())
    if (gpu_.checks->report(kAgentRace, what) == Level::Error)
      stop(HwException{.what = std::move(what), .judged = true});
}

std::string Queue::race_place(std::string_view what) const {
  return fmt::format("{} of GPU {} {}", what, gpu_.index, where());
}

void Queue::begin_race_packet(std::string_view name) {
  if (races_) races_->begin_packet(read_, race_place(name));
}

void Queue::note_wait_over(const Wait& wait, unsigned bytes) {
  const u8* host = races_ ? gpu_.memory.space().at(wait.va, bytes, false) : nullptr;
  if (host == nullptr) return;
  const bool rises =
      (wait.function == hw::Compare::GreaterEqual || wait.function == hw::Compare::Greater) &&
      !skips_bits(wait.function, wait.mask);
  const u8* cell = host - reinterpret_cast<u64>(host) % SignalClocks::kCell;
  races_->processor().acquire(
      {.host = host,
       .bytes = bytes,
       .cell = __atomic_load_n(reinterpret_cast<const u64*>(cell), __ATOMIC_RELAXED),
       .holds = [&](u64 word) { return holds(wait.function, word & wait.mask, wait.reference); },
       .rises = rises});
}

Queue::EndOfPipe Queue::behind_all(EndOfPipe act) {
  if (!races_) return act;
  auto event = std::make_shared<QueueRaces::Event>(races_->add_event());
  return [this, event, act = std::move(act)] {
    races_->begin(*event);
    const ActingAs as(gpu_.memory, event->task.get());
    auto fault = act();
    races_->end(*event);
    return fault;
  };
}

void Queue::break_doorbell(const Check& check, std::string message) {
  std::string full = fmt::format("{}: {}", name(), message);
  if (gpu_.checks->report(check, full) != Level::Error) return;
  std::lock_guard lock(broken_mutex_);
  broken_why_ = fmt::format("{} ({}): {}", check.id, check.rule, message);
  broken_doorbell_.store(true, std::memory_order_release);
}

void Queue::announce(u64 value, unsigned bytes) {
  u64 end = end_of(value), before = rung_.load(std::memory_order_relaxed);
  if (bytes != 8)
    break_doorbell(kDoorbellStore, fmt::format("a store of {} bytes, value {:#x}", bytes, value));
  if (end < before) {
    if (!doorbells_rise()) return;
    break_doorbell(kDoorbellBackwards,
                   fmt::format("{:#x} after {:#x}", value, value + (before - end)));
    return;
  }
  check_doorbell(value, end);
  rung_.store(end, std::memory_order_relaxed);
  if (races_) races_->rung(end);
  raise(end);
}

void Queue::raise(u64 end) {
  u64 before = announced_.load(std::memory_order_relaxed);
  while (before < end &&
         !announced_.compare_exchange_weak(before, end, std::memory_order_release)) {
  }
}

// The write pointer in memory; the kernel has judged its address at CREATE_QUEUE.
u64 Queue::written() const {
  const u8* host = gpu_.memory.space().at(description_.write_pointer, 8, false);
  return host ? __atomic_load_n(reinterpret_cast<const u64*>(host), __ATOMIC_ACQUIRE) : 0;
}

void Queue::check_doorbell(u64 value, u64 end) {
  if (const char* why = wrong_unit(value))
    break_doorbell(kDoorbellUnits, fmt::format("{:#x} {}", value, why));
  u64 read = read_shared_.load(std::memory_order_acquire);
  if (end > read && end - read > capacity())
    break_doorbell(kDoorbellOverrun,
                   fmt::format("{:#x} announced while {:#x} is being read: {:#x} in a ring that "
                               "holds {:#x}",
                               end, read, end - read, capacity()));
  u64 pointer = written();
  if (pointer < end)
    break_doorbell(
        kDoorbellWritePointer,
        fmt::format("the doorbell announces {:#x}, the write pointer holds {:#x}", end, pointer));
}

}  // namespace doorbell::emu::amdgpu
