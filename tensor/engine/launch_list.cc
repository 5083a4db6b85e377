// Replaying as prepared launches: arguments laid out once, patched where a run brings memory or
// numbers. Where DEBUG=2 or a trace asks, each is waited for and timed, as outside of replays.
#include <algorithm>

#include "tensor/engine/in_flight.h"
#include "tensor/engine/must.h"
#include "tensor/engine/replay_executor.h"
#include "tensor/engine/timed.h"

namespace doorbell::engine {
namespace {

class LaunchList final : public ReplayExecutor {
 public:
  explicit LaunchList(std::shared_ptr<const ReplayLayout> layout);
  hcq::Fence run(std::span<core::Buffer* const> memory, std::span<const i64> variables) override;

 private:
  struct Patch {
    u32 view, source;
  };
  void launch(const ReplayLayout::Item& item);
  hcq::Fence keep(std::span<core::Buffer* const> memory) const;

  const std::shared_ptr<const ReplayLayout> layout_;  // shared with the Replay
  std::vector<core::BufferView> views_;               // by the layout's arguments
  std::vector<i64> variables_;                        // by the layout's variables
  std::vector<Patch> patches_;
};

LaunchList::LaunchList(std::shared_ptr<const ReplayLayout> layout)
    : layout_(std::move(layout)), variables_(layout_->variables.size()) {
  for (const ReplayLayout::Argument& argument : layout_->arguments) {
    if (argument.source != ReplayLayout::kNoSource)
      patches_.push_back({static_cast<u32>(views_.size()), argument.source});
    views_.push_back({argument.buffer, argument.offset});
  }
}

void LaunchList::launch(const ReplayLayout::Item& item) {
  end_if_stopped();
  const PlanItem& planned = *item.planned;
  const core::BufferView* first = views_.data() + item.first_argument;
  if (planned.kernel) [[likely]]
    must(planned.kernel->program->launch(
        {first, planned.buffer_count},
        {variables_.data() + item.first_variable, planned.variable_count}));
  else
    must(core::copy_between(*first[0].buffer, first[0].offset, *first[1].buffer, first[1].offset,
                            planned.copy_bytes));
}

hcq::Fence LaunchList::run(std::span<core::Buffer* const> memory, std::span<const i64> variables) {
  for (const Patch& patch : patches_) views_[patch.view].buffer = memory[patch.source];
  for (usize i = 0; i < variables_.size(); ++i) variables_[i] = variables[layout_->variables[i]];
  if (is_timed()) [[unlikely]] {
    for (const ReplayLayout::Item& item : layout_->items)
      timed(*item.planned, [&] { launch(item); });
  } else {
    for (const ReplayLayout::Item& item : layout_->items) launch(item);
  }
  return keep(memory);
}

hcq::Fence LaunchList::keep(std::span<core::Buffer* const> memory) const {
  absl::InlinedVector<hcq::Device*, 2> devices;
  for (const ReplayLayout::Item& item : layout_->items)
    if (hcq::Device* device = hcq::Device::of(*item.planned->device))
      if (device->launches_on_queue() && std::ranges::find(devices, device) == devices.end())
        devices.push_back(device);
  hcq::Fence until = unfinished(devices);
  if (!until.empty()) keep_replay(*layout_, until, memory);
  return until;
}

}  // namespace

std::unique_ptr<ReplayExecutor> make_launch_list(std::shared_ptr<const ReplayLayout> layout) {
  return std::make_unique<LaunchList>(std::move(layout));
}

}  // namespace doorbell::engine
