// The order of the steps.
#include "tools/amd_probe/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/hw/isa/chip.h"
#include "tools/amd_probe/card.h"

namespace doorbell::tools {
namespace {

std::vector<Step> all_steps() {
  std::vector<Step> all;
  for (const std::span<const Step> some :
       {topology_steps(), queue_steps(), copy_steps(), kernel_steps(), fault_steps()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

// What a driver's call refuses is a difference too, but not what this machine does not have.
Outcome outcome_of(const Step& step, const Error& error) {
  if (error.kind == ErrorKind::Unsupported || error.kind == ErrorKind::Busy ||
      error.kind == ErrorKind::OutOfMemory)
    return not_tried(error.message);
  return differs(step.facts[0], "success", error.message);
}

Outcome run_step(const Step& step, Card& card, const std::vector<StepReport>& before) {
  if (step.is_fault && !card.options.faults) return not_tried("it disturbs: only with --faults");
  const auto needed = std::ranges::find(before, step.needs, &StepReport::name);
  if (needed != before.end() && !is_ok(needed->outcome))
    return not_tried(fmt::format("it needs what the step {} tests", step.needs));
  Result<Outcome> outcome = step.run(card);
  return outcome ? std::move(*outcome) : outcome_of(step, outcome.error());
}

Result<Card> open_card(const std::shared_ptr<amd::Kfd>& kfd, const ProbeOptions& options) {
  if (options.gpu >= kfd->nodes().size())
    return fail(ErrorKind::NotFound, "GPU index {} out of range ({} present)", options.gpu,
                kfd->nodes().size());
  const u64 target = kfd->nodes()[options.gpu].properties.gfx_target_version;
  const amd::Caps* caps = amd::find_caps(target);
  if (caps == nullptr)
    return fail(ErrorKind::Unsupported, "GPU {} is a {}; known chips are {}", options.gpu,
                amd::arch_name(target), amd::hw::chip_names());
  TRY(amd::KfdGpu * gpu, kfd->gpu(options.gpu));
  return Card{kfd, options, *gpu, *caps};
}

}  // namespace

bool Card::wait(const std::function<bool()>& done, u64 timeout_ns) const {
  const u64 end = clock().now_ns() + timeout_ns;
  for (u32 turn = 0; !done(); ++turn) {
    if (clock().now_ns() > end) return false;
    clock().relax(turn);
  }
  return true;
}

Result<std::unique_ptr<amd::KfdMemory>> Card::host_memory(u64 bytes) const {
  TRY(std::unique_ptr<amd::KfdMemory> memory,
      gpu.allocate({.bytes = bytes, .kind = amd::MemoryKind::Host, .what = "the probe's memory"}));
  std::memset(memory->host(), 0, memory->bytes());
  return memory;
}

Result<std::unique_ptr<amd::AmdDevice>> Card::open_device(u64 timeout_ns) const {
  core::DeviceSpec spec;
  spec.name = "AMD";
  spec.indices = {static_cast<int>(options.gpu)};
  amd::Options device_options;
  device_options.timeout_ns = timeout_ns;
  device_options.report_waves = options.faults;
  return amd::AmdDevice::open(std::move(spec), kfd, device_options);
}

Result<std::vector<StepReport>> run_probe(const std::shared_ptr<amd::Kfd>& kfd,
                                          const ProbeOptions& options) {
  TRY(Card card, open_card(kfd, options));
  std::vector<StepReport> reports;
  for (const Step& step : all_steps()) {
    card.trace.clear();
    Outcome outcome = run_step(step, card, reports);
    reports.push_back(
        {std::string(step.name), std::move(outcome), step.facts, std::move(card.trace)});
    if (options.tell) options.tell(reports.back());
  }
  return reports;
}

std::vector<StepFacts> probe_steps() {
  std::vector<StepFacts> steps;
  for (const Step& step : all_steps()) steps.push_back({step.name, step.facts});
  return steps;
}

}  // namespace doorbell::tools
