// Submitting, and what goes wrong.
#include "drivers/nv/queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/nv/compute_commands.h"
#include "drivers/nv/device.h"
#include "drivers/nv/hw/stream/stream.h"
#include "drivers/nv/program.h"

namespace doorbell::nv {
namespace {

constexpr i64 kArgumentBytes = i64{8} << 20;
constexpr u64 kAlignment = hw::kQmdAlignment;   // of what an entry or a QMD refers to
constexpr u64 kMostWords = (u64{1} << 21) - 1;  // of an entry: 21 bits

}  // namespace

Result<std::unique_ptr<NvQueue>> NvQueue::make(Parts parts, NvDevice& device, ChannelGroup& group,
                                               Kind kind) {
  const hw::ChipClasses& classes = group.gpu().classes();
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  TRY(std::unique_ptr<NvkChannel> channel,
      NvkChannel::make(group, kind == Kind::Compute ? classes.compute : classes.copy, parts.name));
  std::unique_ptr<NvQueue> queue(
      new NvQueue(std::move(parts), std::move(timeline), device, kind, std::move(channel)));
  TRY(queue->arguments_, hcq::ArgumentRing::make(*queue, kArgumentBytes));
  return queue;
}

NvQueue::NvQueue(Parts parts, hcq::Timeline timeline, NvDevice& device, Kind kind,
                 std::unique_ptr<NvkChannel> channel)
    : Queue(std::move(parts), std::move(timeline)),
      device_(device),
      kind_(kind),
      channel_(std::move(channel)),
      ring_(channel_->ring()) {
  measure();
}

NvQueue::~NvQueue() {
  channel_.reset();
  if (!device_.nvk().check_process()) return;  // signals are the parent's, too
  // Unblock waiters of abandoned work.
  const hcq::Timeline::SignalValue last = timeline().signal_at(timeline().last());
  if (last.signal.value() >= last.value) return;
  died(fail(ErrorKind::DeviceLost, "the {} was closed before position {}", title(),
            timeline().last()));
  last.signal.store(hcq::Signal::kDead);
}

std::unique_ptr<NvCommands> NvQueue::make_nv_commands() {
  if (kind_ == Kind::Compute) return std::make_unique<ComputeCommands>(device_);
  return std::make_unique<NvCommands>(device_.gpu().classes());
}

std::unique_ptr<hcq::CommandBuffer> NvQueue::make_commands() { return make_nv_commands(); }

void NvQueue::measure() {
  if (kind_ != Kind::Compute) return;
  launch_ = std::make_unique<ComputeCommands>(device_);
  const auto words_of = [&](auto record) {
    launch_->clear();
    record(*launch_);
    return static_cast<u32>(launch_->words().size());
  };
  const hcq::GpuAddr none{};
  wait_words_ = words_of([&](ComputeCommands& commands) { commands.wait(none, u64{0}); });
  launch_words_ = ComputeCommands::kSendWords + words_of([&](ComputeCommands& commands) {
                    commands.memory_barrier();
                    commands.signal(none, u64{0});
                  });
}

// ---- submitting ---------------------------------------------------------------------------------

Result<void> NvQueue::set_up() {
  const std::unique_ptr<NvCommands> commands = make_nv_commands();
  commands->set_up();
  TRY(submit(*commands));
  return {};
}

Result<void> NvQueue::set_local_memory(u64 address, u64 bytes_per_tpc) {
  ComputeCommands commands(device_);
  commands.set_local_memory(address, bytes_per_tpc);
  TRY(submit(commands));
  return {};
}

Result<void> NvQueue::launch(const KernelLaunch& launch, const hcq::Fence& after) {
  std::lock_guard lock(mutex());
  TRY(reserve(1));
  const hcq::Position end = timeline().last();
  Result<void> placed = failure();
  if (placed) placed = place_launch(launch, after);
  arguments_->retire(end);
  if (!placed) [[unlikely]] {
    skip();
    return placed;
  }
  launches_.note(end, launch.program.name());
  commit(end);
  return {};
}

Result<void> NvQueue::write(std::span<const hcq::Segment> segments, hcq::Position end) {
  TRY(failure());
  Result<void> placed = place(segments);
  // Also of a submission that failed: the words that raise `end` in its stead do not read them.
  arguments_->retire(end);
  TRY(std::move(placed));
  commit(end);
  return {};
}

void NvQueue::commit(hcq::Position end) {
  if (device_.logs_packets()) [[unlikely]]
    log_submission();
  channel_->announce(ring_.commit(end));
}

Result<void> NvQueue::make_room(u64 entries) {
  if (entries > ring_.most())
    return fail(ErrorKind::Unsupported, "{}: a submission of {} segments, at most {} are possible",
                title(), entries, ring_.most());
  while (!ring_.reserve(static_cast<u32>(entries), timeline())) TRY(wait_done(ring_.oldest()));
  return {};
}

// Words and data lie in one range: the words, then constant bank and descriptor.
Result<void> NvQueue::place_launch(const KernelLaunch& launch, const hcq::Fence& after) {
  constexpr u64 kAlignedWords = kAlignment / sizeof(u32);
  TRY(make_room(1));
  const u64 most = launch_words_ + after.size() * wait_words_;
  const u64 first = (most + kAlignedWords - 1) / kAlignedWords * kAlignedWords;
  const u64 data = launch.program.data_words();
  TRY(const hcq::ArgumentRing::Location location,
      arguments_->allocate((first + data) * sizeof(u32), kAlignment));
  auto* const words = reinterpret_cast<u32*>(location.host);
  const hcq::Timeline::SignalValue end = timeline().signal_at(timeline().last());

  launch_->clear();
  launch_->lend_words({words, most});
  launch_->lend_data({words + first, data},
                     hcq::GpuAddr{location.address.value + first * sizeof(u32)});
  TRY(add_waits(after, *launch_));
  launch_->launch(launch);
  launch_->signal(end.signal.address(), end.value);
  push(location.address.value, launch_->words().size());
  return {};
}

Result<void> NvQueue::place(std::span<const hcq::Segment> segments) {
  u64 entries = 1;
  for (const hcq::Segment& segment : segments)
    entries += 1 + (segment.resident != nullptr ? segment.resident->count : 0) / kMostWords;
  TRY(make_room(entries));
  for (usize i = 0; i < segments.size();) {
    if (const hcq::ResidentWords* resident = segments[i].resident; resident != nullptr) {
      push(resident->memory.address, resident->count);
      ++i;
      continue;
    }
    usize last = i;
    while (last < segments.size() && segments[last].resident == nullptr) ++last;
    TRY(place_words(segments.subspan(i, last - i)));
    i = last;
  }
  return {};
}

Result<void> NvQueue::place_words(std::span<const hcq::Segment> segments) {
  u64 count = 0;
  for (const hcq::Segment& segment : segments) count += segment.words.size();
  if (count == 0) return {};
  if (count > kMostWords)
    return fail(ErrorKind::Unsupported, "{}: {} words in one submission, at most {} are possible",
                title(), count, kMostWords);
  TRY(const hcq::ArgumentRing::Location location,
      arguments_->allocate(count * sizeof(u32), kAlignment));
  std::span<u32> free{reinterpret_cast<u32*>(location.host), count};
  for (const hcq::Segment& segment : segments) {
    const std::span<u32> words = free.first(segment.words.size());
    std::ranges::copy(segment.words, words.begin());
    free = free.subspan(words.size());
    if (segment.commands == nullptr || segment.commands->data().empty()) continue;
    const std::span<const u32> data = segment.commands->data();
    TRY(const hcq::ArgumentRing::Location place,
        arguments_->allocate(data.size_bytes(), kAlignment));
    std::memcpy(place.host, data.data(), data.size_bytes());
    segment.commands->relocate(words, place.address);
    segment.commands->relocate_data({reinterpret_cast<u32*>(place.host), data.size()},
                                    place.address);
  }
  push(location.address.value, count);
  return {};
}

void NvQueue::push(u64 address, u64 words) {
  while (words > 0) {
    const u64 now = std::min(words, kMostWords);
    ring_.push({.addr = address, .subroutine = true, .length = static_cast<u32>(now)});
    address += now * sizeof(u32);
    words -= now;
  }
}

void NvQueue::log_submission() {
  hcq::AddressMap& map = device_.nvk().address_map();
  log().debug("{}, position {}:\n{}", title(), timeline().last(),
              hw::stream_text(hw::StreamKind::Gpfifo,
                              hw::usual_subchannels(device_.gpu().classes()), ring_.submission(),
                              [&](u64 address, u32 count) { return map.peek(address, count); }));
}

// ---- what goes wrong ----------------------------------------------------------------------------

void NvQueue::die(const Error& why) {
  if (!fail_with(why)) return;
  timeline().signal_at(timeline().last()).signal.store(hcq::Signal::kDead);
}

Error NvQueue::error_of(const hw::Notification& notification) const {
  const std::string_view name = hw::xid_name(notification.info32);
  const std::string kernel = first_kernel(), faults = device_.faults();
  return fail(ErrorKind::DeviceLost, "{}: the driver stopped the channel, Xid {}{}{}{}{}", title(),
              notification.info32, name.empty() ? "" : fmt::format(" ({})", name),
              kernel.empty() ? "" : ", " + kernel, faults.empty() ? "" : "; " + faults,
              device_.explanation());
}

void NvQueue::look() {
  if (has_failed()) return;
  if (const std::optional<hw::Notification> error = channel_->error()) die(error_of(*error));
}

// A forked child does not see what RM reports of the channel.
Result<void> NvQueue::failure() {
  TRY(device_.nvk().check_process());
  look();
  return Queue::failure();
}

std::string NvQueue::first_kernel() const {
  const auto first = launches_.first(timeline());
  return first ? fmt::format("kernel {} of position {}", *first->name, first->position) : "";
}

std::string NvQueue::running() {
  const std::string kernel = first_kernel(), faults = device_.faults();
  return (kernel.empty() ? "unknown work" : kernel) + (faults.empty() ? "" : "; " + faults) +
         device_.explanation();
}

}  // namespace doorbell::nv
