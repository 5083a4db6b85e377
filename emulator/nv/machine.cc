// The parts of an emulated machine, how they are joined, and when its GPUs move.
#include "emulator/nv/machine.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/util/log.h"
#include "base/util/try.h"
#include "emulator/core/machine_clock.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/core/races/host_races.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/nv_files.h"
#include "emulator/nv/rm/rm.h"
#include "emulator/nv/uvm/uvm.h"

namespace doorbell::emu::nvgpu {

namespace {

Result<hw::DriverAbi> parse_driver(std::string_view version) {
  u32 release = 0;
  std::from_chars(version.data(), version.data() + version.size(), release);
  if (const auto abi = hw::driver_abi(release)) return *abi;
  return fail(ErrorKind::Invalid, "the layouts of driver {} are not known; those of 570 to 610 are",
              version);
}

}  // namespace

struct Machine::State {
  explicit State(MachineOptions given)
      : options(std::move(given)),
        trace(options.trace, options.trace_format, options.trace_filter,
              options.lockstep ? std::function<u64()>([this] { return now_ns.load(); }) : nullptr),
        random(options.seed) {}

  u64 now() {
    if (options.lockstep) return now_ns.fetch_add(100);
    return static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  // Under the mutex.
  bool step();
  void work();

  MachineOptions options;
  Checks checks{Level::Error};
  Trace trace;
  std::atomic<u64> now_ns{1'000'000'000};  // lockstep
  std::unique_ptr<AgentRaces> races;       // null: not judged
  std::unique_ptr<HostRaces> host;         // the same
  mutable std::mutex mutex;                // guards the members below, but the thread
  Nodes nodes;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::unique_ptr<Rm> rm;
  std::unique_ptr<Uvm> uvm;
  std::mt19937_64 random;
  std::atomic<bool> stop{false};
  std::thread thread;
};

Result<std::unique_ptr<Machine>> Machine::create(MachineOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  State& parts = *state;
  std::vector<const Check*> all(all_checks().begin(), all_checks().end());
  all.insert(all.end(), parts.options.other_checks.begin(), parts.options.other_checks.end());
  TRY(parts.checks.configure(parts.options.checks, all));
  parts.checks.listen([trace = &parts.trace, told = parts.options.report](const Report& report) {
    const std::string text = to_string(report);
    log().warn("emulator: {}", text);
    if (told) told(report);
    trace->write({.kind = "check", .text = text});
  });
  if (parts.checks.level(kAgentRace) != Level::Off) {
    parts.races = std::make_unique<AgentRaces>(OrderNames{
        "WAIT_FOR_IDLE, RELEASE_WFI", "SEM_EXECUTE, LAUNCH_DMA, a descriptor's release"});
    parts.host = std::make_unique<HostRaces>(*parts.races, parts.checks, kAgentRace);
  }
  TRY(const hw::DriverAbi abi, parse_driver(parts.options.driver));
  TRY(const std::vector<const Model*> models, parse_models(parts.options.gpus));
  for (const Model* model : models) {
    const u32 index = static_cast<u32>(parts.gpus.size());
    TRY(std::unique_ptr<Gpu> gpu,
        Gpu::create({.model = model,
                     .checks = &parts.checks,
                     .trace = &parts.trace,
                     .hook = parts.options.hook,
                     .index = index,
                     .adversarial = parts.options.adversarial,
                     .polled = parts.options.preload,
                     .seed = parts.options.seed + index,
                     .hang_after = parts.options.hang_after,
                     .counts = parts.options.counts.get(),
                     .races = parts.races.get(),
                     .now_ns = [s = &parts] { return s->now(); },
                     .interrupt = [s = &parts, index] { s->rm->interrupt(index); }}));
    parts.gpus.push_back(std::move(gpu));
  }
  parts.rm = std::make_unique<Rm>(Rm::Options{.driver = parts.options.driver,
                                              .abi = abi,
                                              .trace = &parts.trace,
                                              .checks = &parts.checks,
                                              .nodes = &parts.nodes,
                                              .poison = parts.options.adversarial,
                                              .replaces = parts.options.preload,
                                              .gpus = &parts.gpus,
                                              .races = parts.races.get()});
  parts.uvm = std::make_unique<Uvm>(*parts.rm);
  if (!parts.options.lockstep) parts.thread = std::thread([&parts] { parts.work(); });
  return std::unique_ptr<Machine>(new Machine(std::move(state)));
}

Machine::Machine(std::unique_ptr<State> state) : state_(std::move(state)) {}

Machine::~Machine() {
  state_->stop = true;
  if (state_->thread.joinable()) state_->thread.join();
  tell_leaks();
}

void Machine::tell_leaks() {
  std::lock_guard lock(state_->mutex);
  if (const usize left = state_->rm->left(); left != 0)
    state_->checks.report(kRmLeft, fmt::format("the process ends with {} objects", left));
}

// ---- moving -------------------------------------------------------------------------------------

bool Machine::State::step() {
  bool moved = false;
  for (const auto& gpu : gpus) {
    if (options.preload) gpu->poll_doorbell();
    moved |= gpu->step();
  }
  return moved;
}

// Looks often while there is work, and seldom when there has been none for long.
void Machine::State::work() {
  constexpr u64 kBusy = 2000;
  u64 idle = 0;
  while (!stop) {
    bool moved = false;
    {
      std::lock_guard lock(mutex);
      for (int i = 0; i < 64 && step(); ++i) moved = true;
    }
    idle = moved ? 0 : idle + 1;
    if (idle == 0) continue;
    if (idle < kBusy)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(idle < 2 * kBusy ? 20 : 200));
  }
}

bool Machine::run_until_idle() {
  std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return false;
  bool moved = false;
  while (state_->step()) moved = true;
  return moved;
}

bool Machine::run_some() {
  if (!state_->options.adversarial) return run_until_idle();
  std::unique_lock lock(state_->mutex, std::try_to_lock);
  if (!lock) return false;
  constexpr u64 kLimits[] = {0, 1, 4, 32, 256};
  const u64 limit = kLimits[state_->random() % std::size(kLimits)];
  bool moved = false;
  for (u64 i = 0; i < limit && state_->step(); ++i) moved = true;
  return moved;
}

// ---- doors --------------------------------------------------------------------------------------

std::unique_ptr<os::Files> Machine::files(os::Files& host) {
  return std::make_unique<NvFiles>(*this, host);
}

std::unique_ptr<os::Clock> Machine::clock(os::Clock& host) {
  if (!state_->options.lockstep) return make_host_clock(host);
  return make_lockstep_clock(state_->now_ns, [this] { run_until_idle(); }, [this] { run_some(); });
}

Checks& Machine::checks() { return state_->checks; }
os::HostAccesses* Machine::host_accesses() { return state_->host.get(); }
usize Machine::gpu_count() const { return state_->gpus.size(); }

std::string Machine::last_fault(u32 gpu) const {
  std::lock_guard lock(state_->mutex);
  return state_->gpus[gpu]->last_fault();
}

std::string Machine::waits(u32 gpu) const {
  std::lock_guard lock(state_->mutex);
  return state_->gpus[gpu]->waits();
}

int Machine::open_node(int node) {
  std::lock_guard lock(state_->mutex);
  if (node == kControlNode) return state_->nodes.open(NodeKind::Control, 0);
  if (node == kUvmNode) return state_->nodes.open(NodeKind::Uvm, 0);
  if (node < 0 || static_cast<usize>(node) >= state_->gpus.size()) {
    errno = ENXIO;
    return -1;
  }
  return state_->nodes.open(NodeKind::Gpu, static_cast<u32>(node));
}

int Machine::node_of(int descriptor) const {
  std::lock_guard lock(state_->mutex);
  const std::shared_ptr<OpenFile> file = state_->nodes.find(descriptor);
  if (!file) return kNoNode;
  switch (file->kind) {
    case NodeKind::Control: return kControlNode;
    case NodeKind::Uvm: return kUvmNode;
    case NodeKind::Gpu: break;
  }
  return static_cast<int>(file->gpu);
}

int Machine::ioctl(int descriptor, unsigned long request, u64 argument) {
  std::lock_guard lock(state_->mutex);
  const std::shared_ptr<OpenFile> file = state_->nodes.find(descriptor);
  if (!file) return EBADF;
  if (file->kind == NodeKind::Uvm)
    return state_->uvm->ioctl(*file, static_cast<u32>(request), argument);
  // [asm-generic/ioctl.h: number 7:0, type 15:8, size 29:16]
  if ((request >> 8 & 0xff) != static_cast<unsigned char>(hw::kEscapeType)) return ENOTTY;
  return state_->rm->escape(*file, request & 0xff, request >> 16 & 0x3fff, argument);
}

void Machine::polled(int descriptor) {
  std::lock_guard lock(state_->mutex);
  state_->nodes.take_event(descriptor);
}

bool Machine::wait_event(int descriptor, u64 timeout_ns) {
  if (state_->options.lockstep) {
    run_until_idle();
  } else {
    constexpr u64 kMillisecond_ns = 1'000'000, kLongest_ms = INT_MAX;
    const u64 timeout_ms = timeout_ns / kMillisecond_ns + (timeout_ns % kMillisecond_ns != 0);
    pollfd file{descriptor, POLLIN | POLLPRI, 0};
    poll(&file, 1, static_cast<int>(std::min(timeout_ms, kLongest_ms)));
  }
  std::lock_guard lock(state_->mutex);
  const bool came = state_->nodes.take_event(descriptor);
  if (!came && state_->options.lockstep) state_->now_ns += timeout_ns;
  return came;
}

void Machine::close_node(int descriptor) {
  std::lock_guard lock(state_->mutex);
  const std::shared_ptr<OpenFile> file = state_->nodes.find(descriptor);
  if (!file) return;
  state_->rm->closed(*file);
  state_->nodes.forget(descriptor);
}

Machine::Mapped Machine::mapped(int descriptor) const {
  std::lock_guard lock(state_->mutex);
  const std::shared_ptr<OpenFile> file = state_->nodes.find(descriptor);
  if (!file || !file->memory) {
    errno = EINVAL;
    return {};
  }
  const auto memory = file->memory->descriptor();
  if (!memory) {
    errno = memory.error().os_errno;
    return {};
  }
  return {*memory,     file->offset,
          file->bytes, file->memory->kind() == Memory::Kind::Usermode,
          file->gpu,   file->memory->host() + file->offset};
}

void Machine::note_mapping(const Mapped& mapped, const u8* at, u64 bytes) {
  if (state_->races != nullptr) state_->races->alias(at, mapped.host, bytes);
}

void Machine::ring(u32 gpu, u32 token) {
  {
    std::lock_guard lock(state_->mutex);
    state_->gpus[gpu]->ring(token);
  }
  // Where races are judged, only a host that waits or asks for the time moves the machine: a
  // doorbell would order all work.
  const bool moves = state_->races == nullptr || state_->options.adversarial;
  if (state_->options.lockstep && moves) run_some();
}

}  // namespace doorbell::emu::nvgpu
