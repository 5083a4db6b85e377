// Submitting, and what goes wrong.
#include "drivers/amd/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "drivers/amd/hang_report.h"
#include "drivers/amd/packet_log.h"
#include "drivers/amd/program.h"
#include "drivers/amd/wave_report.h"

namespace doorbell::amd {

Result<AmdQueue::Resources> AmdQueue::allocate(Parts parts, AmdDevice& device, QueueType type,
                                               const hw::AmdQueue& descriptor) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  KfdEvents& events = device.kfd().events();
  TRY(const KfdEvents::Interrupt interrupt, events.make_interrupt());
  KfdQueue::Aql aql;
  aql.descriptor = descriptor;
  aql.errors.event_mailbox = interrupt.mailbox;
  aql.errors.event_id = interrupt.event_id;
  Result<std::unique_ptr<KfdQueue>> hardware =
      KfdQueue::make(device.gpu(), device.caps(), type, format_of(type).ring_bytes, aql);
  if (!hardware) {
    events.release_interrupt(interrupt);
    return std::move(hardware).error();
  }
  return Resources{std::move(parts), std::move(timeline), device, interrupt, std::move(*hardware)};
}

AmdQueue::AmdQueue(Resources resources)
    : Queue(std::move(resources.parts), std::move(resources.timeline)),
      device_(resources.device),
      interrupt_(resources.interrupt),
      hardware_(std::move(resources.hardware)),
      format_(format_of(hardware_->type())),
      ring_(hardware_->ring(), format_) {}

AmdQueue::~AmdQueue() {
  hardware_.reset();
  device_.kfd().events().release_interrupt(interrupt_);
  // Unblock waiters of abandoned work.
  const hcq::Timeline::SignalValue last = timeline().signal_at(timeline().last());
  if (last.signal.value() >= last.value) return;
  died(fail(ErrorKind::DeviceLost, "the {} was closed before position {}", title(),
            timeline().last()));
  last.signal.store(hcq::Signal::kDead);
}

Result<void> AmdQueue::change_descriptor(const std::function<void(hw::AmdQueue&)>& change) {
  TRY(hardware_->stop());
  change(hardware_->descriptor());
  Result<void> resumed = hardware_->resume();
  if (resumed || resumed.error().kind != ErrorKind::Unsupported) return resumed;
  // Over PCI no queue goes on that was taken off.
  TRY(hardware_->restart());
  ring_.restart();
  return {};
}

Result<void> AmdQueue::make_argument_ring() {
  TRY(arguments_, hcq::ArgumentRing::make(*this, format_.argument_bytes));
  return {};
}

void AmdQueue::close() {
  constexpr u32 kMaxTurns = 1000, kSpins = 100;
  const u64 ring = format_.pointer_of(hardware_->ring().size());
  const auto is_read = [&] {
    return (hardware_->read_pointer() - hardware_->write_pointer()) % ring == 0;
  };
  const bool healthy = device_.kfd().check_process() && idle() && !has_failed();
  for (u32 turn = 0; healthy && turn < kMaxTurns && !is_read(); ++turn) {
    // Behind USB, what the GPU writes is seen when the kernel is asked.
    if (turn > kSpins) (void)device_.kfd().events().look();
    clock().relax(turn);
  }
}

u64 AmdQueue::to_ns(u64 ticks) const { return device_.to_ns(ticks); }

// ---- submitting ---------------------------------------------------------------------------------

Result<void> AmdQueue::launch(const KernelLaunch& launch, const hcq::Fence& after) {
  std::lock_guard lock(mutex());
  TRY(reserve(1));
  const hcq::Position end = timeline().last();
  Result<void> placed = check_alive();
  if (placed) placed = place_launch(launch, after);
  arguments_->retire(end);
  if (!placed) [[unlikely]] {
    skip();
    return placed;
  }
  launches_.note(end, launch.program.name());
  const u64 pointer = commit({});
  hardware_->ring_doorbell(pointer, pointer - format_.doorbell_lag);
  return {};
}

Result<void> AmdQueue::write(std::span<const hcq::Segment> segments, hcq::Position end) {
  TRY(check_alive());
  Result<void> placed = place(segments);
  // Also of a submission that failed: the words that raise `end` in its stead do not read them.
  arguments_->retire(end);
  TRY(std::move(placed));
  const u64 pointer = commit(segments);
  hardware_->ring_doorbell(pointer, pointer - format_.doorbell_lag);
  return {};
}

Result<void> AmdQueue::place_launch(const KernelLaunch& launch, const hcq::Fence&) {
  UNREACHABLE("kernel {} on the {}", launch.program.name(), title());
}

Result<void> AmdQueue::check_alive() {
  TRY(device_.kfd().check_process());
  return failure();
}

Result<void> AmdQueue::make_room(u64 words) {
  if (words > ring_.most())
    return fail(ErrorKind::Unsupported, "{}: a submission of {} words, at most {} are possible",
                title(), words, ring_.most());
  while (!ring_.reserve(words, timeline())) TRY(wait_done(ring_.oldest()));
  return {};
}

u64 AmdQueue::commit(std::span<const hcq::Segment> segments) {
  const hcq::Position end = timeline().last();
  if (device_.logs_packets()) [[unlikely]]
    log().debug(
        "{}, position {}:\n{}", title(), end,
        packets_text(format_.stream, device_.caps().generation, ring_.submission(), segments));
  return ring_.commit(end);
}

Result<hcq::GpuAddr> AmdQueue::place_data(const hcq::Segment& segment) {
  if (segment.commands == nullptr) return hcq::GpuAddr{};
  const std::span<const u32> data = segment.commands->data();
  if (data.empty()) return hcq::GpuAddr{};
  TRY(const hcq::ArgumentRing::Location location,
      arguments_->allocate(data.size_bytes(), kDataAlignment));
  std::memcpy(location.host, data.data(), data.size_bytes());
  return location.address;
}

std::span<const u32> AmdQueue::words_of(const hcq::Segment& segment) {
  if (segment.resident == nullptr) return segment.words;
  return {static_cast<const u32*>(segment.resident->memory.host), segment.resident->count};
}

// ---- what goes wrong ----------------------------------------------------------------------------

void AmdQueue::die(const Error& why) {
  if (!fail_with(why)) return;
  timeline().signal_at(timeline().last()).signal.store(hcq::Signal::kDead);
}

// Destroying the queue takes its waves off the hardware in the middle of their work.
void AmdQueue::drop(hcq::Position last) {
  if (Result<void> restarted = hardware_->restart(); !restarted) return die(restarted.error());
  ring_.restart();
  const hcq::Timeline::SignalValue end = timeline().signal_at(last);
  end.signal.store(end.value);
}

std::string AmdQueue::busy_with() {
  const auto kernel = launches_.first(timeline());
  const std::string what = kernel ? fmt::format(", kernel {}", *kernel->name) : "";
  const hcq::Position last = timeline().last();
  const hcq::Timeline::SignalValue target = timeline().signal_at(last);
  const u64 left = target.value - std::min(target.value, target.signal.value());
  return fmt::format("{} at position {} of {}{}{}", title(), last - left + 1, last, what,
                     waves(false));
}

std::string AmdQueue::waves(bool is_running) {
  if (!format_.has_waves) return {};
  if (is_running && !device_.reports_waves())
    return "; AMD_REPORT_WAVES=1 reports where its waves stand";
  std::lock_guard lock(waves_mutex_);
  const auto describe = is_running ? describe_running_waves : describe_waves;
  return describe(*hardware_, device_.code(), device_.caps().generation,
                  device_.kfd().has_trap_registers());
}

std::string AmdQueue::running() {
  const auto first = launches_.first(timeline());
  const std::string text =
      first ? fmt::format("kernel {} of position {}", *first->name, first->position)
            : std::string("unknown work");
  return text + describe_hang(*hardware_, device_.kfd(), device_.caps().generation) + waves(true) +
         device_.explanation();
}

}  // namespace doorbell::amd
