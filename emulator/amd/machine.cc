// The parts of an emulated machine, and how they are joined.
#include "emulator/amd/machine.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include <fmt/format.h>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "emulator/amd/all_checks.h"
#include "emulator/amd/bare/bare_files.h"
#include "emulator/amd/bare/made_tables.h"
#include "emulator/amd/bare/usb_bridge.h"
#include "emulator/amd/breakpoints.h"
#include "emulator/amd/cp/gpu.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/grid_launcher.h"
#include "emulator/amd/isa/chip.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/amd/kfd/kfd_files.h"
#include "emulator/core/machine_clock.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/core/races/host_races.h"

namespace doorbell::emu::amdgpu {
namespace {

// How many instructions waves may run, nothing else happening, before the host is to go on: when it
// waits, and when it only looks.
constexpr u64 kPatience = 1 << 20, kGlance = 1 << 15;

// Of the file that keeps a bare card besides its memory.
constexpr u64 kCardBytes = u64{64} << 10;
static_assert(sizeof(CardState) <= kCardBytes);

// A GPU behind its kernel's door.
class GpuEngine final : public Engine {
 public:
  GpuEngine(const Chip& chip, Kfd& kfd, Interrupts& interrupts, u32 index,
            const MachineOptions& options, UndefinedMemory* undefined, AgentRaces* races,
            MemoryObserver* observer, std::function<void()> rung)
      : rung_(moves_with_doorbells(options, races) ? std::move(rung) : nullptr),
        launcher_({.chip = &chip,
                   .space = &kfd.devices()[index]->space,
                   .compute_units = compute_units(*kfd.devices()[index]->slot.node, options),
                   .seed = options.adversarial || options.lockstep ? seed(options, index) : 0,
                   .poison = options.adversarial,
                   .checks = &kfd.checks(),
                   .undefined = undefined,
                   .dump = options.dump_waves,
                   .breakpoints = options.breakpoints.get(),
                   .counts = options.counts.get(),
                   .returns_from_traps = options.silent_waves}),
        gpu_({.generation = static_cast<amd::hw::Generation>(chip.generation),
              .xccs = kfd.devices()[index]->slot.node->xccs,
              .engines = engines(*kfd.devices()[index]->slot.node),
              .compute_units = units_of(*kfd.devices()[index]->slot.node, options),
              .waves_per_unit = waves_per_unit(*kfd.devices()[index]->slot.node),
              .scratch_reclaim = scratch_reclaim(*kfd.devices()[index]->slot.node),
              .lds_unit = chip.lds_granule,
              .lds_bytes = chip.lds_bytes,
              .compute_slots = kfd.devices()[index]->slot.node->cp_queues,
              .index = static_cast<int>(index),
              .memory = &kfd.devices()[index]->space,
              .interrupts = &interrupts,
              .checks = &kfd.checks(),
              .launcher = &launcher_,
              .trace = kfd.trace(),
              .hook = options.hook,
              .undefined = undefined,
              .observer = observer,
              .races = races,
              .lockstep = options.lockstep,
              .adversarial = options.adversarial,
              .hang_after = hang_after(options),
              .seed = seed(options, index)}) {}

  Result<QueueId> add_queue(const QueueDescription& description) override {
    return gpu_.add_queue(description);
  }
  Result<void> remove_queue(QueueId id) override { return gpu_.remove_queue(id); }
  Result<void> update_queue(QueueId id, const QueueDescription& description) override {
    return gpu_.update_queue(id, description);
  }
  Result<std::vector<SavedContext>> save_waves(QueueId id, const SaveOptions& options) override {
    return gpu_.save_waves(id, options);
  }
  void ring(QueueId id, u64 value, unsigned bytes) override {
    gpu_.ring(id, value, bytes);
    if (rung_) rung_();
  }
  void unmapped(u64 start, u64 end) override { gpu_.unmapped(start, end); }

  Gpu& gpu() { return gpu_; }

 private:
  // Of a bare GPU none is fused off: what tells that to the kernel's driver is not emulated.
  static u32 units_of(const Node& node, const MachineOptions& options) {
    return options.bare ? node.arrays * node.cus_per_array : node.compute_units;
  }
  static ComputeUnits compute_units(const Node& node, const MachineOptions& options) {
    return {.count = units_of(node, options) / node.xccs,
            .simds = node.simds_per_cu,
            .waves_per_simd = node.waves_per_simd,
            .vgpr_bytes = static_cast<u32>(vgpr_bytes_per_cu(node) / node.simds_per_cu)};
  }
  // From which firmware on ROCr relies on it. [ROCm/rocm-systems 1b1610f amd_gpu_agent.h
  // AsyncScratchReclaimEnabled(): GFX94X_ and GFX95X_MIN_CP_FW_VERSION_REQUIRED]
  static bool scratch_reclaim(const Node& node) {
    constexpr u32 kGfx94x = 904, kGfx95x = 905, kGfx94xFirmware = 177, kGfx95xFirmware = 24;
    const u32 family = node.target_version / 100;
    return (family == kGfx94x && node.firmware >= kGfx94xFirmware) ||
           (family == kGfx95x && node.firmware >= kGfx95xFirmware);
  }
  static u32 waves_per_unit(const Node& node) { return node.waves_per_simd * node.simds_per_cu; }
  static u64 hang_after(const MachineOptions& options) {
    constexpr u64 kLockstep = u64{1} << 28;
    return options.hang_after == 0 && options.lockstep ? kLockstep : options.hang_after;
  }
  static u64 seed(const MachineOptions& options, u32 index) {
    return hash_combine(options.seed + 1, index) | 1;
  }

  // In lockstep a doorbell moves the machine. Where races are judged, only a host that waits or
  // asks for the time does: the next doorbell would come behind all work, and order it.
  static bool moves_with_doorbells(const MachineOptions& options, const AgentRaces* races) {
    return options.lockstep && (races == nullptr || options.adversarial);
  }

  std::function<void()> rung_;  // or null
  GridLauncher launcher_;
  Gpu gpu_;
};

// Whether a rule about undefined values is judged.
bool asks_for_undefined(const Checks& checks) {
  constexpr const Check* kRules[] = {&kUndefinedAddress, &kUndefinedBranch, &kUndefinedLanes,
                                     &kUndefinedOperand, &kUndefinedResult};
  return std::ranges::any_of(
      kRules, [&](const Check* check) { return checks.level(*check) != Level::Off; });
}

}  // namespace

struct Machine::State {
  explicit State(MachineOptions given)
      : options(std::move(given)),
        trace(options.trace, options.trace_format, options.trace_filter,
              options.lockstep ? std::function<u64()>([this] { return now_ns.load(); }) : nullptr),
        random(options.seed) {}

  // A bare card's memory, and what it keeps besides: in files, or null for a new one.
  Result<CardState*> open_card(Device& device) {
    if (options.cards.empty()) return static_cast<CardState*>(nullptr);
    const Node& node = *device.slot.node;
    const std::string path = fmt::format("{}/{}-{}", options.cards, device.slot.index, node.name);
    TRY(device.memory, Backing::open_file(path, node.vram_bytes));
    TRY(std::unique_ptr<Backing> state, Backing::open_file(path + ".state", kCardBytes));
    cards.push_back(std::move(state));
    return reinterpret_cast<CardState*>(cards.back()->at(0));
  }

  Result<void> open_bare(Device& device) {
    if (!bare_chip(*device.slot.node) || device.slot.is_part())
      return fail(ErrorKind::Unsupported,
                  "GPU {} is a {}: without a kernel driver only gfx942, gfx1100 and gfx1201 are "
                  "emulated",
                  device.slot.index, device.slot.node->name);
    TRY(CardState* const card, open_card(device));
    bare.push_back(std::make_unique<BareGpu>(
        device, checks, bus, [this] { return ticks(); },
        BareGpu::Settings{options.shown_bytes, options.most_shown_bytes, options.adversarial},
        card));
    TRY(std::unique_ptr<BridgeMemory> bridge, BridgeMemory::make(checks));
    bridges.push_back(std::move(bridge));
    return {};
  }

  MachineOptions options;
  Checks checks{Level::Error};
  Trace trace;
  UndefinedMemory undefined;
  std::unique_ptr<AgentRaces> races;       // null: not judged
  std::unique_ptr<HostRaces> host;         // the same
  std::atomic<u64> now_ns{1'000'000'000};  // lockstep
  std::unique_ptr<Kfd> kfd;
  BusMemory bus;
  std::vector<std::unique_ptr<Backing>> cards;         // their files
  std::vector<std::unique_ptr<BareGpu>> bare;          // of a bare machine; use kfd's devices
  std::vector<std::unique_ptr<BridgeMemory>> bridges;  // of each, should it be behind USB
  std::unique_ptr<EmulatedUsb> usb;                    // once it is asked for; uses them
  std::vector<std::unique_ptr<GpuEngine>> engines;     // go before the Kfd that they interrupt
  std::mutex moving;                                   // lockstep: one mover at a time
  std::mt19937_64 random;                              // chooses who runs next; under moving

  Gpu::Rest run_until_rest(u64 patience);
  // The counter of 100 MHz that the GPUs' timestamps are made of.
  u64 ticks() const { return kfd->now_ns() / 10; }
  // Nothing moves: what each queue waits for, and where a value that is waited for may be.
  std::string tell_waits(Events::Slots slots);
  // A rule is broken when the newest value of memory that is waited for has not left an L2.
  std::string judge_awaited(const void* memory, u64 bytes);
};

Result<std::unique_ptr<Machine>> Machine::create(MachineOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  TRY(state->checks.configure(state->options.checks, all_checks()));
  KfdOptions kfd;
  TRY(kfd.slots, make_slots(state->options.gpus));
  Trace* trace = &state->trace;
  state->checks.listen([trace, told = state->options.report](const Report& report) {
    std::string text = to_string(report);
    log().warn("emulator: {}", text);
    if (told) told(report);
    trace->write({.kind = "check", .text = text});
  });
  kfd.checks = &state->checks;
  UndefinedMemory* undefined = asks_for_undefined(state->checks) ? &state->undefined : nullptr;
  const bool waits = state->checks.level(kLoadWait) != Level::Off;
  if (state->checks.level(kAgentRace) != Level::Off) {
    state->races = std::make_unique<AgentRaces>();
    state->host = std::make_unique<HostRaces>(*state->races, state->checks, kAgentRace);
  }
  const bool races = state->checks.level(kLdsRace) != Level::Off ||
                     state->checks.level(kMemoryRace) != Level::Off || state->races != nullptr;
  if ((undefined != nullptr || waits || races) && state->options.counts != nullptr)
    return fail(ErrorKind::Unsupported,
                "instructions are not counted while undefined values, waits or races are judged: "
                "set AMD-INI=off,AMD-LOAD=off,AMD-RACE=off");
  kfd.undefined = undefined;
  kfd.races = state->races.get();
  kfd.trace = trace;
  kfd.polled_doorbells = state->options.polled_doorbells;
  kfd.silent_waves = state->options.silent_waves;
  if (state->options.lockstep) kfd.now_ns = [now = &state->now_ns] { return now->fetch_add(100); };
  TRY(state->kfd, Kfd::create(std::move(kfd)));
  std::unique_ptr<Machine> machine(new Machine(std::move(state)));
  State& parts = *machine->state_;
  for (const auto& device : parts.kfd->devices()) {
    const u32 index = device->slot.index;
    if (parts.options.bare) TRY(parts.open_bare(*device));
    MemoryObserver* const observer = parts.options.bare ? parts.bridges.back().get() : nullptr;
    Interrupts& interrupts = parts.options.bare ? static_cast<Interrupts&>(*parts.bare.back())
                                                : parts.kfd->interrupts(index);
    parts.engines.push_back(std::make_unique<GpuEngine>(
        *find_chip(device->slot.node->name), *parts.kfd, interrupts, index, parts.options,
        undefined, parts.races.get(), observer, [m = machine.get()] { m->run_some(); }));
    device->engine = parts.engines.back().get();
  }
  if (parts.options.lockstep)
    machine->kfd().events().set_advance(
        [state = &parts] {
          switch (state->run_until_rest(kPatience)) {
            case Gpu::Rest::Idle: return Events::Advance::Still;
            case Gpu::Rest::Moved: return Events::Advance::Moved;
            case Gpu::Rest::Busy: return Events::Advance::Busy;
          }
          UNREACHABLE("what is neither moving nor still");
        },
        [state = &parts](u64 time_ns) { state->now_ns += time_ns; },
        [state = &parts](Events::Slots slots) { return state->tell_waits(slots); });
  return machine;
}

Machine::Machine(std::unique_ptr<State> state) : state_(std::move(state)) {}

Machine::~Machine() {
  tell_leaks();
  state_->kfd->queues().destroy_all();
  state_->kfd->events().shut_down();
}

void Machine::tell_leaks() {
  for (const auto& gpu : state_->bare) gpu->tell_leaks();
  const usize queues = state_->kfd->queues().left().size();
  const usize buffers = state_->kfd->buffers().count();
  if (queues || buffers)
    state_->checks.report(
        kQueueLeft, fmt::format("the process ends with {} queues and {} buffers", queues, buffers));
}

std::unique_ptr<os::Files> Machine::files(os::Files& host) {
  if (state_->options.bare)
    return std::make_unique<BareFiles>(state_->bare, state_->bus, host, state_->options.vfio);
  return std::make_unique<KfdFiles>(*state_->kfd, host);
}

std::unique_ptr<os::Clock> Machine::clock(os::Clock& host) {
  if (!state_->options.lockstep) return make_host_clock(host);
  return make_lockstep_clock(state_->now_ns, [this] { run_until_idle(); }, [this] { run_some(); });
}

Checks& Machine::checks() { return state_->checks; }
os::HostAccesses* Machine::host_accesses() { return state_->host.get(); }
Kfd& Machine::kfd() { return *state_->kfd; }
BareGpu& Machine::bare_gpu(usize index) { return *state_->bare.at(index); }
BusMemory& Machine::bus() { return state_->bus; }
EmulatedUsb& Machine::usb() {
  std::lock_guard lock(state_->moving);
  if (state_->usb == nullptr)
    state_->usb =
        std::make_unique<EmulatedUsb>(state_->bare, state_->bridges, state_->checks, [this] {
          if (state_->options.lockstep) run_some();
        });
  return *state_->usb;
}

std::string Machine::last_fault(usize index) {
  if (state_->options.bare) return state_->bare.at(index)->last_fault();
  return state_->kfd->last_fault(state_->kfd->devices()[index]->slot.gpu_id());
}

// Does nothing if another thread runs the machine, or if it is called from an interrupt.
bool Machine::run_some() {
  if (!state_->options.adversarial) return state_->run_until_rest(kGlance) != Gpu::Rest::Idle;
  std::unique_lock lock(state_->moving, std::try_to_lock);
  if (!lock) return false;
  // Mostly a little; now and then nothing at all, or far.
  constexpr u64 kLimits[] = {0, 4, 32, 256, 4096};
  u64 limit = kLimits[state_->random() % std::size(kLimits)];
  // So many turns without a move: only the host can go on.
  const u64 idle = 4 * state_->engines.size();
  bool moved = false;
  u64 still = 0;
  for (u64 turns = limit == 0 ? 0 : state_->random() % limit; turns > 0 && still < idle; --turns) {
    const auto& engine = state_->engines[state_->random() % state_->engines.size()];
    const bool moves = engine->gpu().run_once();
    still = moves ? 0 : still + 1;
    moved |= moves;
  }
  return moved;
}

bool Machine::run_until_idle() { return state_->run_until_rest(kPatience) != Gpu::Rest::Idle; }

std::string Machine::State::judge_awaited(const void* memory, u64 bytes) {
  for (const auto& engine : engines) {
    const std::string left = engine->gpu().unwritten(static_cast<const u8*>(memory), bytes);
    if (left.empty()) continue;
    checks.report(kDirtyL2, "nothing can move, and of memory that is waited for " + left);
    return ", and " + left;
  }
  return "";
}

std::string Machine::State::tell_waits(Events::Slots slots) {
  std::vector<std::string> all;
  for (const auto& engine : engines)
    for (Gpu::Wait& wait : engine->gpu().waits()) {
      if (wait.memory) wait.what += judge_awaited(wait.memory, sizeof(u64));
      all.push_back(std::move(wait.what));
    }
  for (const u64* slot : slots)
    if (std::string left = judge_awaited(slot, sizeof *slot); !left.empty())
      all.push_back("an event's slot is waited for" + left);
  // What else the host polls is not known.
  for (const auto& engine : engines)
    if (std::string left = engine->gpu().unwritten_host_memory(); !left.empty())
      all.push_back("the host cannot see that " + left);
  return fmt::format("{}", fmt::join(all, "; "));
}

Gpu::Rest Machine::State::run_until_rest(u64 patience) {
  std::unique_lock lock(moving, std::try_to_lock);
  if (!lock) return Gpu::Rest::Idle;
  std::vector<Gpu*> gpus;
  for (const auto& engine : engines) gpus.push_back(&engine->gpu());
  return amdgpu::run_until_rest(gpus, patience);
}

}  // namespace doorbell::emu::amdgpu
