// The open recorder of each thread.
#include "tensor/engine/recorder.h"

#include <utility>

namespace doorbell::engine {

namespace {
constinit thread_local Recorder* open = nullptr;
}  // namespace

Recorder::Scope::Scope(Recorder* recorder) : previous_(std::exchange(open, recorder)) {}
Recorder::Scope::~Scope() { open = previous_; }
Recorder* Recorder::current() { return open; }

void Recorder::add(const std::shared_ptr<const Plan>& plan, const core::GraphKey& key,
                   std::span<const core::UOpRef> results) {
  RecordedRun run{plan, {}, key.variables, {results.begin(), results.end()}};
  for (core::UOp input : key.inputs) run.inputs.emplace_back(input);
  runs.push_back(std::move(run));
}

}  // namespace doorbell::engine
