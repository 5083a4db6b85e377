// The parts of an emulated machine, and how they are joined.
#include "emulator/amd/machine.h"

#include <atomic>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/util/log.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/amd/kfd/kfd_files.h"

namespace doorbell::emulator::amd {
namespace {

// Queues stand still.
class IdleEngine final : public Engine {
 public:
  Result<QueueId> add_queue(const QueueDescription&) override { return next_++; }
  Result<void> remove_queue(QueueId) override { return {}; }
  Result<void> update_queue(QueueId, const QueueDescription&) override { return {}; }
  void ring(QueueId, u64, unsigned) override {}
  void quiesce() override {}

 private:
  std::atomic<QueueId> next_{0};
};

// Time that passes when somebody asks, and in which the GPUs move.
class LockstepClock final : public os::Clock {
 public:
  LockstepClock(Machine& machine, std::atomic<u64>& now) : machine_(machine), now_(now) {}
  u64 now_ns() override { return now_ += 100; }
  void sleep_until(u64 time_ns) override {
    machine_.run_until_idle();
    u64 now = now_;
    while (now < time_ns && !now_.compare_exchange_weak(now, time_ns)) {
    }
  }
  void relax(u32) override {
    now_ += 1000;
    machine_.run_until_idle();
  }

 private:
  Machine& machine_;
  std::atomic<u64>& now_;
};

class HostClock final : public os::Clock {
 public:
  explicit HostClock(os::Clock& host) : host_(host) {}
  u64 now_ns() override { return host_.now_ns(); }
  void sleep_until(u64 time_ns) override { host_.sleep_until(time_ns); }
  void relax(u32 turn) override { host_.relax(turn); }

 private:
  os::Clock& host_;
};

}  // namespace

struct Machine::State {
  explicit State(MachineOptions given)
      : options(std::move(given)), trace(options.trace, options.trace_format) {}

  MachineOptions options;
  Checks checks{Level::Error};
  Trace trace;
  std::atomic<u64> now_ns{1'000'000'000};  // lockstep
  std::unique_ptr<Kfd> kfd;
  std::vector<std::unique_ptr<Engine>> engines;  // go before the Kfd that they interrupt
};

std::string known_gpus() {
  std::string names;
  for (const Node& node : nodes()) names += (names.empty() ? "" : ", ") + std::string(node.name);
  return names;
}

Result<std::unique_ptr<Machine>> Machine::create(MachineOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  TRY(state->checks.configure(state->options.checks));
  KfdOptions kfd;
  for (const std::string& name : state->options.gpus) {
    const Node* node = find_node(name);
    if (!node)
      return fail(ErrorKind::Invalid, "no emulated GPU is called {:?}; there are {}", name,
                  known_gpus());
    kfd.nodes.push_back(node);
  }
  Trace* trace = &state->trace;
  state->checks.listen([trace](const Report& report) {
    std::string text = to_string(report);
    log().warn("emulator: {}", text);
    trace->write({.kind = "check", .text = text});
  });
  kfd.checks = &state->checks;
  kfd.trace = trace;
  kfd.polled_doorbells = state->options.polled_doorbells;
  if (state->options.lockstep) kfd.now_ns = [now = &state->now_ns] { return now->fetch_add(100); };
  TRY(state->kfd, Kfd::create(std::move(kfd)));
  for (const auto& device : state->kfd->devices()) {
    state->engines.push_back(std::make_unique<IdleEngine>());
    device->engine = state->engines.back().get();
  }
  std::unique_ptr<Machine> machine(new Machine(std::move(state)));
  if (machine->state_->options.lockstep)
    machine->kfd().events().set_advance([m = machine.get()] { return m->run_until_idle(); });
  return machine;
}

Machine::Machine(std::unique_ptr<State> state) : state_(std::move(state)) {}

Machine::~Machine() {
  Kfd& kfd = *state_->kfd;
  usize queues = kfd.queues().destroy_all();
  usize buffers = kfd.buffers().count();
  if (queues || buffers)
    state_->checks.report(
        kQueueLeft, fmt::format("the process ends with {} queues and {} buffers", queues, buffers));
  kfd.events().shut_down();
}

std::unique_ptr<os::Files> Machine::files(os::Files& host) {
  return std::make_unique<KfdFiles>(*state_->kfd, host);
}

std::unique_ptr<os::Clock> Machine::clock(os::Clock& host) {
  if (state_->options.lockstep) return std::make_unique<LockstepClock>(*this, state_->now_ns);
  return std::make_unique<HostClock>(host);
}

Checks& Machine::checks() { return state_->checks; }
Kfd& Machine::kfd() { return *state_->kfd; }

bool Machine::run_until_idle() { return false; }

}  // namespace doorbell::emulator::amd
