// Finding, keeping and using the facts.
#include "runtime/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <thread>

#include "base/os/host.h"
#include "base/util/log.h"
#include "codegen/render/cpu_caps.h"
#include "core/util/config.h"

namespace doorbell::runtime {
namespace {

// Changes with what is measured and how.
constexpr int kMeasurement = 1;

std::string to_text(const cpu::CoreSpeed& speed) {
  std::string text;
  cpu::CoreSpeed::fields(
      speed, [&](const char* name, f64 value) { text += fmt::format("{}={};", name, value); });
  return text;
}

// Nothing if a value is missing or is no number: then it is measured again.
std::optional<cpu::CoreSpeed> parse_speed(std::string_view text) {
  cpu::CoreSpeed speed;
  bool sound = true;
  cpu::CoreSpeed::fields(speed, [&](const char* name, f64& value) {
    const std::string prefix = fmt::format("{}=", name);
    const usize end = text.find(';');
    if (!text.starts_with(prefix) || end == text.npos) {
      sound = false;
      return;
    }
    const char *first = text.data() + prefix.size(), *last = text.data() + end;
    const auto [at, error] = std::from_chars(first, last, value);
    sound = sound && error == std::errc() && at == last && std::isfinite(value) && value >= 0;
    text.remove_prefix(end + 1);
  });
  return sound ? std::optional(speed) : std::nullopt;
}

codegen::CacheKey key_of(const os::CpuTopology& topology) {
  std::string text =
      fmt::format("core speed {} {} {}", kMeasurement, codegen::cpu_identity(), topology.model);
  for (const os::CoreKind& kind : topology.kinds)
    for (const os::CpuCache& cache : kind.caches)
      text += fmt::format(" L{} {} {}", cache.level, cache.bytes, cache.cores);
  return codegen::make_cache_key(text);
}

std::optional<cpu::CoreSpeed> find_speed(const Machine& machine, const os::System& system,
                                         const cpu::SpeedLoops& loops, codegen::DiskTable& kept) {
  const codegen::CacheKey key = key_of(machine.topology);
  const std::vector<u8> found = kept.find(key);
  const std::string_view text(reinterpret_cast<const char*>(found.data()), found.size());
  if (std::optional<cpu::CoreSpeed> speed = parse_speed(text)) return speed;
  if (!kept.usable() || loops.add == nullptr) return std::nullopt;
  Result<cpu::CoreSpeed> measured = cpu::measure_core(loops, machine.fastest(), system.clock);
  if (!measured) {
    log().debug("speeds of this processor are unknown: {}", measured.error().message);
    return std::nullopt;
  }
  const std::string made = to_text(*measured);
  kept.store(key, {reinterpret_cast<const u8*>(made.data()), made.size()});
  return *measured;
}

i64 rounded(f64 value, i64 least, i64 most) {
  return std::clamp(static_cast<i64>(std::lround(value)), least, most);
}

}  // namespace

const os::CoreKind& Machine::fastest() const {
  static const os::CoreKind kUnknown;
  return topology.kinds.empty() ? kUnknown : topology.kinds[0];
}

Machine find_machine(const os::System& system, const cpu::SpeedLoops& loops,
                     codegen::DiskTable* kept) {
  Machine machine;
  if (Result<os::CpuTopology> topology = os::read_cpu_topology(system.files))
    machine.topology = std::move(*topology);
  else
    log().debug("the processor is unknown: {}", topology.error().message);
  if (kept != nullptr) machine.speed = find_speed(machine, system, loops, *kept);
  return machine;
}

const Machine& this_machine() {
  static const Machine& machine = *new Machine([] {
    const core::Config& config = core::config();
    const os::System& system = os::host_system();
    if (config.cache_level < 1 || config.cache_directory.empty())
      return find_machine(system, {}, nullptr);
    codegen::DiskTable kept(system.files, {.path = config.cache_directory + "/machine.db",
                                           .name = "speeds",
                                           .what = "facts of the machine"});
    return find_machine(system, cpu::host_speed_loops(), &kept);
  }());
  return machine;
}

void refine(const Machine& machine, codegen::Caps* caps) {
  const os::CoreKind& core = machine.fastest();
  caps->l1_bytes = core.cache_bytes(1, caps->l1_bytes);
  caps->l2_bytes = core.cache_bytes(2, caps->l2_bytes);
  if (!machine.speed) return;
  const cpu::CoreSpeed& speed = *machine.speed;
  const bool both = speed.wide.each_ns > 0 && speed.narrow.each_ns > 0;
  // Where the clock drops for wide registers, or they are split, two narrow ones may be faster.
  if (caps->vector_bytes == 64 && both && speed.wide.each_ns > 2.1 * speed.narrow.each_ns)
    caps->vector_bytes = 32;
  const cpu::CoreSpeed::Fma& fma = caps->vector_bytes == 64 ? speed.wide : speed.narrow;
  if (fma.each_ns <= 0) return;
  caps->core.fma_in_flight = rounded(fma.in_flight(), 2, 16);
  if (speed.memory > 0) {
    const f64 load_ns = caps->vector_bytes / speed.memory;
    caps->core.far_load = rounded(load_ns / fma.each_ns, 1, 64);
  }
}

Workers place_workers(const os::CpuTopology& topology, const std::vector<int>& allowed, int asked) {
  Workers workers;
  const int cores = topology.cores_of(allowed);
  const int any = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  workers.threads = asked > 0 ? asked : cores > 0 ? cores : any;
  if (workers.threads > cores || workers.threads == 1) return workers;
  if (workers.threads == cores) {
    workers.cpus.cores = topology.cpus_of_cores(allowed);
    return workers;
  }
  std::vector<int> cpus = topology.placement(allowed);
  // Where each CPU is a core, the system's scheduler needs no help.
  if (std::cmp_equal(cpus.size(), cores)) return workers;
  cpus.resize(static_cast<usize>(cores));
  workers.cpus.shared = std::move(cpus);
  return workers;
}

}  // namespace doorbell::runtime
