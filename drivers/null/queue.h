// NullQueue: accepts everything and is done at once, to measure the cost of a replay without its
// commands. NullCommandBuffer writes no words.
#pragma once

#include "base/util/try.h"
#include "hcq/queue/queue.h"

namespace doorbell::null {

class NullCommandBuffer final : public hcq::CommandBuffer {
 public:
  void wait(hcq::Operand, hcq::Operand) override {}
  void signal(hcq::Operand, hcq::Operand) override {}
  void timestamp(hcq::Operand) override {}
  void memory_barrier() override {}
  void exec(const hcq::Launch&) override {}
  void copy(hcq::Operand, hcq::Operand, u64) override {}
  void write(hcq::Operand, hcq::Operand) override {}
  void poll(hcq::Operand, hcq::Operand, u64) override {}
};

class NullQueue final : public hcq::Queue {
 public:
  static Result<std::unique_ptr<NullQueue>> make(Parts parts) {
    parts.is_host = parts.runs_at_once = true;
    TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
    return std::make_unique<NullQueue>(std::move(parts), std::move(timeline));
  }
  using Queue::Queue;

  std::unique_ptr<hcq::CommandBuffer> make_commands() override {
    return std::make_unique<NullCommandBuffer>();
  }

 protected:
  Result<void> write(std::span<const hcq::Segment>, hcq::Position end) override {
    const hcq::Timeline::SignalValue target = timeline().signal_at(end);
    // Mirrors are linked under our lock, so that the value may be stored without a fence.
    hcq::SignalCell& cell = target.signal.cell();
    cell.value.store(target.value, std::memory_order_release);
    if (hcq::SignalCell* mirror = cell.mirror.load(std::memory_order_relaxed)) [[unlikely]]
      mirror->raise_mirrors(target.value);
    return {};
  }
};

}  // namespace doorbell::null
