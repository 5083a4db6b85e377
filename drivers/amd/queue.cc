// The ring: room, words, pointer, doorbell.
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
#include "drivers/amd/queue_units.h"
#include "drivers/amd/wave_report.h"

namespace doorbell::amd {
namespace {

constexpr u64 kLeastFree = 16;  // words; an AQL packet

}  // namespace

AmdQueue::AmdQueue(Parts parts, hcq::Timeline timeline, AmdDevice& device,
                   std::unique_ptr<KfdQueue> hardware, KfdEvents::Interrupt interrupt)
    : Queue(std::move(parts), std::move(timeline)),
      device_(device),
      interrupt_(interrupt),
      hardware_(std::move(hardware)),
      type_(hardware_->type()) {}

AmdQueue::~AmdQueue() {
  hardware_.reset();
  device_.kfd().events().release_interrupt(interrupt_);
  // Unblock waiters of abandoned work.
  const hcq::Timeline::Place last = timeline().where(timeline().last());
  if (last.signal.value() >= last.value) return;
  died(fail(ErrorKind::DeviceLost, "the {} was closed before position {}", title(),
            timeline().last()));
  last.signal.store(hcq::Signal::kDead);
}

Result<void> AmdQueue::change_descriptor(const std::function<void(hw::AmdQueue&)>& change) {
  TRY(hardware_->stop());
  change(hardware_->descriptor());
  return hardware_->resume();
}

Result<void> AmdQueue::make_rings(i64 argument_bytes) {
  TRY(arguments_, hcq::ArgumentRing::make(*this, argument_bytes));
  return {};
}

void AmdQueue::close() {
  constexpr u32 kMostTurns = 1000;
  const u64 ring = in_units(type_, hardware_->ring().size());
  const auto is_read = [&] {
    return (hardware_->read_pointer() - hardware_->write_pointer()) % ring == 0;
  };
  const bool healthy =
      device_.kfd().check_process() && idle() && !dead_.load(std::memory_order_acquire);
  for (u32 turn = 0; healthy && turn < kMostTurns && !is_read(); ++turn) clock().relax(turn);
}

u64 AmdQueue::to_ns(u64 ticks) const { return device_.to_ns(ticks); }

// ---- placing ------------------------------------------------------------------------------------

Result<void> AmdQueue::write(std::span<const hcq::Segment> segments, hcq::Position end) {
  TRY(device_.kfd().check_process());
  TRY(failure());
  words_.clear();
  Result<void> assembled = assemble(segments);
  if (assembled) assembled = make_room(words_.size());
  // Arguments that were placed and not used are free when the queue is done with the rest.
  arguments_->retire(assembled ? end : timeline().last());
  TRY(std::move(assembled));
  // Behind the signal of `end` lies its interrupt: only what was before this submission is read
  // for sure when `end` is done.
  chunks_.push_back({end, put_});
  if (device_.logs_packets()) [[unlikely]]
    log().debug("{}, position {}:\n{}", title(), end,
                packets_text(type_, device_.caps().generation, words_, segments));
  write_ring(words_);
  publish();
  return {};
}

Result<void> AmdQueue::make_room(u64 count) {
  const u64 size = hardware_->ring().size();
  // The last submission may not be read yet, and a ring that is full looks empty.
  const u64 most = size / 4, room = size - kLeastFree;
  if (count > most)
    return fail(ErrorKind::Unsupported, "{}: {} words in one submission, at most {}", title(),
                count, most);
  // The copy engine's packets do not go round the end.
  if (type_ == QueueType::Sdma && put_ % size + count > size) count += size - put_ % size;
  while (put_ + count - taken_back_ > room) {
    while (first_chunk_ < chunks_.size() && done(chunks_[first_chunk_].position))
      taken_back_ = chunks_[first_chunk_++].end;
    if (first_chunk_ * 2 > chunks_.size()) {
      chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<i64>(first_chunk_));
      first_chunk_ = 0;
    }
    if (put_ + count - taken_back_ <= room) break;
    CHECK(first_chunk_ < chunks_.size(), "an idle ring of {} words has no room for {}", size,
          count);
    TRY(wait_done(chunks_[first_chunk_].position));
  }
  return {};
}

void AmdQueue::write_ring(std::span<const u32> words) {
  const std::span<u32> ring = hardware_->ring();
  const u64 size = ring.size();
  if (type_ == QueueType::Sdma && put_ % size + words.size() > size) {
    // Zeros are NOPs.
    std::fill(ring.begin() + static_cast<i64>(put_ % size), ring.end(), 0);
    put_ += size - put_ % size;
  }
  if (type_ == QueueType::Aql) return write_packets(words);
  const u64 at = put_ % size, first = std::min<u64>(words.size(), size - at);
  std::memcpy(ring.data() + at, words.data(), first * sizeof(u32));
  std::memcpy(ring.data(), words.data() + first, (words.size() - first) * sizeof(u32));
  put_ += words.size();
}

// A packet's header hands it over, and so comes last. The ring is a whole number of packets.
void AmdQueue::write_packets(std::span<const u32> words) {
  constexpr usize kWords = hw::kAqlPacketBytes / sizeof(u32);
  const std::span<u32> ring = hardware_->ring();
  for (usize i = 0; i < words.size(); i += kWords, put_ += kWords) {
    u32* const slot = ring.data() + put_ % ring.size();
    std::memcpy(slot + 1, words.data() + i + 1, (kWords - 1) * sizeof(u32));
    std::atomic_ref(*slot).store(words[i], std::memory_order_release);
  }
}

void AmdQueue::publish() {
  const u64 pointer = in_units(type_, put_);
  // AQL queues are rung with the last packet's number, the others with the pointer.
  hardware_->ring_doorbell(pointer, type_ == QueueType::Aql ? pointer - 1 : pointer);
}

Result<hcq::GpuAddr> AmdQueue::place_data(const hcq::CommandBuffer& commands) {
  const std::span<const u32> data = commands.data();
  if (data.empty()) return hcq::GpuAddr{};
  constexpr u64 kAlignment = 256;
  TRY(const hcq::ArgumentRing::Place place, arguments_->allocate(data.size_bytes(), kAlignment));
  std::memcpy(place.host, data.data(), data.size_bytes());
  return place.address;
}

Result<void> AmdQueue::append_piece(const hcq::Segment& segment) {
  const usize first = words_.size();
  words_.insert(words_.end(), segment.words.begin(), segment.words.end());
  if (segment.commands == nullptr) return {};
  TRY(const hcq::GpuAddr data, place_data(*segment.commands));
  if (data.value != 0) segment.commands->relocate(std::span(words_).subspan(first), data);
  return {};
}

// ---- what goes wrong ----------------------------------------------------------------------------

void AmdQueue::die(const Error& why) {
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_ != nullptr) return;
    failure_ = std::make_unique<Error>(why);
    failure_->device = device_name();
  }
  dead_.store(true, std::memory_order_release);
  died(why);
  timeline().where(timeline().last()).signal.store(hcq::Signal::kDead);
}

// The kernel takes waves off the hardware where they are.
void AmdQueue::drop(hcq::Position last) {
  if (Result<void> restarted = hardware_->restart(); !restarted) return die(restarted.error());
  put_ = taken_back_ = 0;
  chunks_.clear();
  first_chunk_ = 0;
  const hcq::Timeline::Place end = timeline().where(last);
  end.signal.store(end.value);
}

Result<void> AmdQueue::failure() {
  if (!dead_.load(std::memory_order_acquire)) [[likely]]
    return {};
  std::lock_guard lock(failure_mutex_);
  return *failure_;
}

void AmdQueue::note_launch(hcq::Position position, const std::string& name) {
  Launched& launched = launches_[position % kRemembered];
  launched.name.store(&name, std::memory_order_relaxed);
  launched.position.store(position, std::memory_order_release);
}

const std::string* AmdQueue::first_kernel(hcq::Position* position) const {
  const std::string* first = nullptr;
  for (const Launched& launched : launches_) {
    const hcq::Position at = launched.position.load(std::memory_order_acquire);
    if (at == 0 || done(at) || (first != nullptr && at > *position)) continue;
    first = launched.name.load(std::memory_order_relaxed);
    *position = at;
  }
  return first;
}

std::string AmdQueue::busy_with() {
  hcq::Position position = 0;
  const std::string* kernel = first_kernel(&position);
  const std::string what = kernel == nullptr ? "" : fmt::format(", kernel {}", *kernel);
  const hcq::Position last = timeline().last();
  const hcq::Timeline::Place place = timeline().where(last);
  const u64 left = place.value - std::min(place.value, place.signal.value());
  return fmt::format("{} at position {} of {}{}{}", title(), last - left + 1, last, what,
                     waves(false));
}

std::string AmdQueue::waves(bool is_running) {
  if (type_ == QueueType::Sdma) return {};
  if (is_running && !device_.reports_waves())
    return "; AMD_REPORT_WAVES=1 tells where its waves stand";
  std::lock_guard lock(waves_mutex_);
  const auto describe = is_running ? describe_running_waves : describe_waves;
  return describe(*hardware_, device_.code(), device_.caps().generation,
                  device_.kfd().has_trap_registers());
}

std::string AmdQueue::running() {
  hcq::Position position = 0;
  const std::string* kernel = first_kernel(&position);
  const std::string text = kernel == nullptr
                               ? std::string("something")
                               : fmt::format("kernel {} of position {}", *kernel, position);
  return text + describe_hang(*hardware_, device_.kfd(), device_.caps().generation) + waves(true) +
         device_.explanation();
}

}  // namespace doorbell::amd
