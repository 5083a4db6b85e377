// Bare queues of each kind: made and destroyed, and what their packets write, wait for and raise.
#include <fmt/format.h>

#include <array>
#include <atomic>

#include "base/util/try.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/sdma/sync.h"
#include "tools/amd_probe/raw_queue.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;
using amd::QueueType;

constexpr u64 kWide = 0x1122'3344'5566'7788, kUntouched = 0xdbdb'dbdb'dbdb'dbdb;
constexpr u32 kNarrow = 0x89ab'cdef;
constexpr u8 kUncached = 3;  // MTYPE_UC

std::string hex(u64 value) { return fmt::format("{:#x}", value); }

std::atomic_ref<u64> cell(const amd::KfdMemory& memory, u32 index) {
  return std::atomic_ref<u64>(reinterpret_cast<u64*>(memory.host())[index]);
}
u64 address_of(const amd::KfdMemory& memory, u32 index) {
  return memory.address() + u64{index} * sizeof(u64);
}

// What the packets wrote, into the trace.
void note_cells(Card& card, const amd::KfdMemory& cells, u32 count) {
  for (u32 i = 0; i < count; ++i)
    card.trace.push_back(fmt::format("cell {} is {:#x}", i, cell(cells, i).load()));
}

Result<Outcome> make_queues(Card& card) {
  constexpr std::pair<const char*, QueueType> kKinds[] = {
      {"PM4", QueueType::Pm4}, {"AQL", QueueType::Aql}, {"SDMA", QueueType::Sdma}};
  constexpr int kTimes = 3;
  std::string made;
  for (const auto& [name, type] : kKinds)
    for (int i = 0; i < kTimes; ++i) {
      const Result<RawQueue> queue = RawQueue::make(card, type);
      if (!queue)
        return differs(Fact::Doorbells, fmt::format("a queue of {}", name), queue.error().message);
      if (i == 0) made += fmt::format("{}{}", made.empty() ? "" : ", ", name);
    }
  return ok(fmt::format("{}: each made and destroyed {} times", made, kTimes));
}

// ---- PM4 ----------------------------------------------------------------------------------------

hw::ReleaseMem release(hw::ReleaseData data, u64 address, u64 value = 0) {
  return {.data_sel = data, .addr = address, .data = value};
}

Result<Outcome> signal_by_pm4(Card& card) {
  TRY(const std::unique_ptr<amd::KfdMemory> cells, card.host_memory(4096));
  TRY(RawQueue queue, RawQueue::make(card, QueueType::Pm4));
  enum : u32 { Wide, Narrow, First, Awaited, Behind };
  cell(*cells, Narrow) = kUntouched;
  queue << release(hw::ReleaseData::Data64, address_of(*cells, Wide), kWide)
        << release(hw::ReleaseData::Low32, address_of(*cells, Narrow), kNarrow)
        << release(hw::ReleaseData::Low32, address_of(*cells, First), 1)
        << hw::WaitRegMem{.addr = address_of(*cells, Awaited), .reference = 7}
        << release(hw::ReleaseData::Low32, address_of(*cells, Behind), 1);
  queue.ring_doorbell();
  if (!card.wait([&] { return cell(*cells, First) != 0; }))
    return differs(queue.read_pointer() == 0 ? Fact::Pm4Pointers : Fact::EndOfPipe,
                   "the third RELEASE_MEM to write within the time",
                   fmt::format("nothing; {} of {} words are read", queue.read_pointer(),
                               queue.write_pointer()));
  if (const u64 seen = cell(*cells, Wide); seen != kWide)
    return differs(Fact::ReleaseData, hex(kWide) + " by DATA_SEL 2", hex(seen));
  const u64 narrow = (kUntouched >> 32 << 32) | kNarrow;
  if (const u64 seen = cell(*cells, Narrow); seen != narrow)
    return differs(Fact::ReleaseData, hex(narrow) + " by DATA_SEL 1", hex(seen));
  // It must stand now; a value below the reference must not let it go.
  constexpr u64 kMoment_ns = 20'000'000;
  for (const u64 below : {0, 6}) {
    cell(*cells, Awaited) = below;
    if (card.wait([&] { return cell(*cells, Behind) != 0; }, kMoment_ns))
      return differs(Fact::WaitRegMem, fmt::format("{} not to be enough for a wait for 7", below),
                     "the packets behind it ran");
  }
  cell(*cells, Awaited) = 7;
  if (!card.wait([&] { return cell(*cells, Behind) != 0; }))
    return differs(Fact::WaitRegMem, "7 to end a wait for 7", "it waits on");
  if (!card.wait([&] { return queue.is_read(); }))
    return differs(Fact::Pm4Pointers, fmt::format("{} words to be read", queue.write_pointer()),
                   fmt::format("a read pointer of {}", queue.read_pointer()));
  note_cells(card, *cells, Behind + 1);
  return ok("RELEASE_MEM writes 32 and 64 bits, WAIT_REG_MEM waits, the pointers count words");
}

// ---- AQL ----------------------------------------------------------------------------------------

Result<Outcome> signal_by_aql(Card& card) {
  TRY(const std::unique_ptr<amd::KfdMemory> memory, card.host_memory(4096));
  TRY(RawQueue queue, RawQueue::make(card, QueueType::Aql));
  auto* signals = reinterpret_cast<hw::AmdSignal*>(memory->host());
  constexpr u32 kStart[] = {1, 1, 5};
  for (u32 i = 0; i < std::size(kStart); ++i) {
    signals[i] = hw::AmdSignal{};
    signals[i].value = kStart[i];
  }
  const auto address = [&](u32 i) { return memory->address() + i * sizeof(hw::AmdSignal); };
  const auto value = [&](u32 i) {
    return std::atomic_ref<i64>(signals[i].value).load(std::memory_order_acquire);
  };
  // The host lets the first go, that lets the second one go.
  queue << hw::BarrierPacket{.dep = {address(0)}, .completion_signal = address(1)};
  queue << hw::BarrierPacket{.barrier = true, .dep = {address(1)}, .completion_signal = address(2)};
  queue.ring_doorbell();
  constexpr u64 kMoment_ns = 20'000'000;
  if (card.wait([&] { return value(1) != 1; }, kMoment_ns))
    return differs(Fact::AqlSignals, "BARRIER_AND to wait for a signal of 1", "it went on");
  std::atomic_ref<i64>(signals[0].value).store(0, std::memory_order_release);
  if (!card.wait([&] { return value(2) != kStart[2]; }))
    return differs(queue.read_pointer() == 0 ? Fact::AqlPointers : Fact::AqlSignals,
                   "two BARRIER_AND to end once the signal is 0",
                   fmt::format("signals of {} and {}; {} of {} packets are read", value(1),
                               value(2), queue.read_pointer(), queue.write_pointer()));
  if (value(1) != 0 || value(2) != kStart[2] - 1)
    return differs(Fact::AqlSignals, "completion signals to go from 1 to 0 and from 5 to 4",
                   fmt::format("{} and {}", value(1), value(2)));
  if (!card.wait([&] { return queue.is_read(); }))
    return differs(Fact::AqlPointers, "a read pointer of 2",
                   fmt::format("{}", queue.read_pointer()));
  for (u32 i = 0; i < std::size(kStart); ++i)
    card.trace.push_back(fmt::format("signal {} is {}", i, value(i)));
  return ok("BARRIER_AND waits, completion signals count down by 1, the pointers count packets");
}

// ---- SDMA ---------------------------------------------------------------------------------------

Result<Outcome> signal_by_sdma(Card& card) {
  TRY(const std::unique_ptr<amd::KfdMemory> cells, card.host_memory(4096));
  TRY(RawQueue queue, RawQueue::make(card, QueueType::Sdma));
  enum : u32 { Fenced, Sum, Awaited, Behind };
  cell(*cells, Fenced) = kUntouched;
  cell(*cells, Sum) = 0xffff'ffff;  // the sum carries into the upper half
  const u8 mtype = card.caps.sdma_fence_mtype ? kUncached : u8{0};
  const auto fence = [&](u32 index, u32 data) {
    return hw::SdmaFence{.mtype = mtype, .addr = address_of(*cells, index), .data = data};
  };
  queue << hw::SdmaAtomic{.addr = address_of(*cells, Sum), .data = 2} << fence(Fenced, kNarrow)
        << hw::SdmaPollRegmem{.addr = address_of(*cells, Awaited), .value = 7} << fence(Behind, 1);
  queue.ring_doorbell();
  const u64 fenced = (kUntouched >> 32 << 32) | kNarrow;
  if (!card.wait([&] { return cell(*cells, Fenced) != kUntouched; }))
    return differs(queue.read_pointer() == 0 ? Fact::SdmaPointers : Fact::SdmaFence,
                   "FENCE to write within the time",
                   fmt::format("nothing; {} of {} bytes are read", queue.read_pointer(),
                               queue.write_pointer()));
  if (const u64 seen = cell(*cells, Fenced); seen != fenced)
    return differs(Fact::SdmaFence, hex(fenced), hex(seen));
  if (const u64 seen = cell(*cells, Sum); seen != 0x1'0000'0001)
    return differs(Fact::SdmaAtomic, "0x100000001, 2 added to 0xffffffff", hex(seen));
  constexpr u64 kMoment_ns = 20'000'000;
  cell(*cells, Awaited) = 6;
  if (card.wait([&] { return cell(*cells, Behind) != 0; }, kMoment_ns))
    return differs(Fact::SdmaPoll, "6 not to be enough for a wait for 7",
                   "the fence behind it ran");
  cell(*cells, Awaited) = 7;
  if (!card.wait([&] { return cell(*cells, Behind) != 0; }))
    return differs(Fact::SdmaPoll, "7 to end a wait for 7", "it waits on");
  if (!card.wait([&] { return queue.is_read(); }))
    return differs(Fact::SdmaPointers, fmt::format("{} bytes to be read", queue.write_pointer()),
                   fmt::format("a read pointer of {}", queue.read_pointer()));
  note_cells(card, *cells, Behind + 1);
  return ok("FENCE writes 32 bits, ATOMIC adds 64, POLL_REGMEM waits, the pointers count bytes");
}

// ---- events -------------------------------------------------------------------------------------

// What an event's wait in the kernel brings.
Result<bool> wait_in_kernel(const Card& card, u32 event_id) {
  hw::KfdEventData event;
  event.event_id = event_id;
  hw::KfdWaitEvents wait;
  wait.events_ptr = reinterpret_cast<u64>(&event);
  wait.num_events = 1;
  wait.timeout = static_cast<u32>(card.options.timeout_ns / 1'000'000);
  TRY(card.kfd->call(wait));
  return wait.wait_result == hw::kKfdWaitComplete;
}

Result<Outcome> raise_events(Card& card) {
  TRY(const amd::KfdEvents::Interrupt interrupt, card.kfd->events().make_interrupt());
  struct Release {
    amd::KfdEvents& events;
    const amd::KfdEvents::Interrupt& interrupt;
    ~Release() { events.release_interrupt(interrupt); }
  } const release_at_end{card.kfd->events(), interrupt};
  TRY(RawQueue compute, RawQueue::make(card, QueueType::Pm4));
  compute << hw::ReleaseMem{.int_sel = hw::ReleaseInterrupt::AfterWriteConfirm,
                            .data_sel = hw::ReleaseData::Low32,
                            .addr = interrupt.mailbox,
                            .data = interrupt.event_id,
                            .int_ctxid = interrupt.event_id};
  compute.ring_doorbell();
  TRY(const bool by_compute, wait_in_kernel(card, interrupt.event_id));
  if (!by_compute)
    return differs(Fact::EventSlots,
                   fmt::format("RELEASE_MEM to raise event {}", interrupt.event_id),
                   "the wait in the kernel timed out");
  TRY(RawQueue copy, RawQueue::make(card, QueueType::Sdma));
  const u8 mtype = card.caps.sdma_fence_mtype ? kUncached : u8{0};
  copy << hw::SdmaFence{.mtype = mtype, .addr = interrupt.mailbox, .data = interrupt.event_id}
       << hw::SdmaTrap{.int_context = interrupt.event_id};
  copy.ring_doorbell();
  TRY(const bool by_copy, wait_in_kernel(card, interrupt.event_id));
  if (!by_copy)
    return differs(Fact::SdmaTrap, fmt::format("TRAP to raise event {}", interrupt.event_id),
                   "the wait in the kernel timed out");
  return ok(fmt::format("RELEASE_MEM and TRAP raise event {}", interrupt.event_id));
}

// ---- the clock ----------------------------------------------------------------------------------

struct Moment {
  u64 before_ns = 0, after_ns = 0;  // of the host, around it
  u64 ticks = 0;
};

Result<Outcome> check_clock(Card& card) {
  constexpr u64 kPause_ns = 50'000'000;
  TRY(const std::unique_ptr<amd::KfdMemory> cells, card.host_memory(4096));
  TRY(RawQueue compute, RawQueue::make(card, QueueType::Pm4));
  TRY(RawQueue copy, RawQueue::make(card, QueueType::Sdma));
  u32 next = 0;
  const auto stamp = [&](bool by_copy, Moment& moment) {
    const u32 at = next++;
    if (by_copy)
      copy << hw::SdmaTimestamp{.addr = address_of(*cells, at)};
    else
      compute << release(hw::ReleaseData::GpuClockCounter, address_of(*cells, at));
    moment.before_ns = card.clock().now_ns();
    (by_copy ? copy : compute).ring_doorbell();
    if (!card.wait([&] { return cell(*cells, at) != 0; })) return false;
    moment.after_ns = card.clock().now_ns();
    moment.ticks = cell(*cells, at);
    return true;
  };
  TRY(const u64 start, card.gpu.clock_ticks());
  Moment first, second, third;
  if (!stamp(false, first)) return differs(Fact::ReleaseData, "DATA_SEL 3 to write", "nothing");
  card.clock().sleep_until(card.clock().now_ns() + kPause_ns);
  if (!stamp(false, second)) return differs(Fact::ReleaseData, "DATA_SEL 3 to write", "nothing");
  if (!stamp(true, third)) return differs(Fact::SdmaTimestamp, "TIMESTAMP to write", "nothing");
  TRY(const u64 end, card.gpu.clock_ticks());
  if (second.ticks <= first.ticks)
    return differs(Fact::ClockRate, fmt::format("a clock beyond {}", first.ticks),
                   fmt::format("{}", second.ticks));
  const auto ticks_of = [&](u64 ns, f64 share) {
    return static_cast<f64>(ns) * 1e-9 * static_cast<f64>(card.caps.timestamp_hz) * share;
  };
  const f64 least = ticks_of(second.before_ns - first.after_ns, 0.98),
            most = ticks_of(second.after_ns - first.before_ns, 1.02);
  const auto passed = static_cast<f64>(second.ticks - first.ticks);
  if (passed < least || passed > most)
    return differs(
        Fact::ClockRate,
        fmt::format("{:.0f} to {:.0f} ticks of {} Hz", least, most, card.caps.timestamp_hz),
        fmt::format("{:.0f}", passed));
  if (first.ticks < start || second.ticks > end)
    return differs(Fact::ClockCounters,
                   fmt::format("times of RELEASE_MEM within {} to {}", start, end),
                   fmt::format("{} and {}", first.ticks, second.ticks));
  if (third.ticks < second.ticks || third.ticks > end)
    return differs(Fact::SdmaTimestamp, fmt::format("{} to {}", second.ticks, end),
                   fmt::format("{}", third.ticks));
  return ok(fmt::format("{:.2f} MHz of the host's clock, and goes forward on both engines",
                        passed * 1e3 / static_cast<f64>(second.before_ns - first.after_ns)));
}

constexpr Fact kQueueFacts[] = {Fact::Doorbells};
constexpr Fact kPm4Facts[] = {Fact::EndOfPipe, Fact::Pm4Pointers, Fact::ReleaseData,
                              Fact::WaitRegMem};
constexpr Fact kAqlFacts[] = {Fact::AqlSignals, Fact::AqlPointers};
constexpr Fact kSdmaFacts[] = {Fact::SdmaFence, Fact::SdmaPointers, Fact::SdmaAtomic,
                               Fact::SdmaPoll};
constexpr Fact kEventFacts[] = {Fact::EventSlots, Fact::SdmaTrap};
constexpr Fact kClockFacts[] = {Fact::ClockCounters, Fact::ClockRate, Fact::SdmaTimestamp,
                                Fact::ReleaseData};
constexpr Step kSteps[] = {
    {"queues", kQueueFacts, "", false, make_queues},
    {"PM4 signals", kPm4Facts, "queues", false, signal_by_pm4},
    {"AQL signals", kAqlFacts, "queues", false, signal_by_aql},
    {"SDMA signals", kSdmaFacts, "queues", false, signal_by_sdma},
    {"events", kEventFacts, "queues", false, raise_events},
    {"clock", kClockFacts, "queues", false, check_clock},
};

}  // namespace

std::span<const Step> queue_steps() { return kSteps; }

}  // namespace doorbell::tools
