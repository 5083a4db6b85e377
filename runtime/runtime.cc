// Registers everything, once.
#include "runtime/runtime.h"

#include <unistd.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/os/host.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "core/device/registry.h"
#include "drivers/cl/device.h"
#include "drivers/cpu/device.h"
#include "drivers/disk/device.h"
#include "drivers/null/device.h"
#include "runtime/amd_backend.h"
#include "runtime/cl_backend.h"
#include "runtime/compilers.h"
#include "runtime/device_table.h"
#include "runtime/environment.h"
#include "runtime/extension.h"
#include "runtime/profile.h"
#include "runtime/progress_bar.h"
#include "runtime/target.h"
#include "tensor/engine/kernel_compiler.h"

namespace doorbell::runtime {
namespace {

using core::Config;
using core::Device;
using core::DeviceSpec;
using core::Registry;
using DeviceResult = Result<std::unique_ptr<Device>>;

// Fills in what a target says about the device being opened.
void apply_target(const std::vector<Target>& targets, const DeviceRow& row, DeviceSpec* spec) {
  if (const Target* target = target_for(targets, row.name)) {
    spec->iface = target->iface;
    spec->indices = target->indices;
    spec->renderer = target->renderer;
    spec->arch = target->arch;
  }
  if (!spec->renderer.empty()) return;
  for (const RendererRow& renderer : row.renderers) {
    if (!renderer.built) continue;
    spec->renderer = renderer.name;
    return;
  }
}

i64 physical_memory() {
  return static_cast<i64>(sysconf(_SC_PHYS_PAGES)) * static_cast<i64>(sysconf(_SC_PAGE_SIZE));
}

// All CPU devices of a process share one pool: a processor has its threads once. It is made when
// the first of them is opened.
Registry::Factory cpu_factory(std::vector<Target> targets, const Config& config) {
  struct Shared {
    std::mutex mutex;
    std::shared_ptr<cpu::WorkerPool> workers;
  };
  auto shared = std::make_shared<Shared>();  // by the copies of the factory
  const int threads = config.cpu_threads;
  const i64 max_cached = config.lru ? physical_memory() / 4 : 0;
  return [=](DeviceSpec spec) -> DeviceResult {
    apply_target(targets, *find_device("CPU"), &spec);
    std::lock_guard lock(shared->mutex);
    if (!shared->workers) {
      TRY(shared->workers, cpu::make_workers(threads));
    }
    cpu::Options options;
    options.workers = shared->workers;
    options.max_cached = max_cached;
    return std::make_unique<cpu::CpuDevice>(std::move(spec), options);
  };
}

Registry::Factory cl_factory(std::vector<Target> targets, const Config& config) {
  cl::Options options;
  options.platform = config.cl_platform;
  options.max_cached = config.lru ? physical_memory() / 4 : 0;
  return [=](DeviceSpec spec) -> DeviceResult {
    cl::Options traced = options;
    traced.trace = hcq::Trace::of_process();
    apply_target(targets, *find_device("CL"), &spec);
    TRY(std::unique_ptr<cl::ClDevice> device, cl::open_device(std::move(spec), traced));
    return device;
  };
}

Registry::Factory amd_factory(std::vector<Target> targets, const Config& config) {
  return [targets = std::move(targets),
          backend = AmdBackend(process_environment(), config)](DeviceSpec spec) mutable {
    apply_target(targets, *find_device("AMD"), &spec);
    return backend.open(std::move(spec));
  };
}

Registry::Factory null_factory(std::vector<Target> targets) {
  return [targets = std::move(targets)](DeviceSpec spec) -> DeviceResult {
    apply_target(targets, *find_device("NULL"), &spec);
    return std::make_unique<null::NullDevice>(std::move(spec));
  };
}

// Those of add_device_kind. A list, because others hold pointers into it.
std::list<DeviceKind>& kinds() {
  static std::list<DeviceKind>& kinds = *new std::list<DeviceKind>;  // devices outlive main()
  return kinds;
}

Registry::Factory factory_of(const DeviceKind& kind, std::vector<Target> targets) {
  return [&kind, targets = std::move(targets)](DeviceSpec spec) -> DeviceResult {
    apply_target(targets, *find_device(kind.name), &spec);
    return kind.open(std::move(spec));
  };
}

// Our own CPU device beats an OpenCL implementation on the CPU.
bool may_be_default_cl(const Config& config) {
  return has_opencl_gpu(os::host_system().files, config.cl_platform);
}

std::vector<std::string> default_order(const std::vector<Target>& targets, const Config& config) {
  if (!targets.empty() && !targets[0].device.empty()) return {targets[0].device};
  std::vector<const DeviceRow*> rows;
  for (const DeviceRow& row : device_table())
    if (row.built && row.fallback > 0 && (row.name != "CL" || may_be_default_cl(config)))
      rows.push_back(&row);
  // Places are distinct.
  std::sort(rows.begin(), rows.end(),
            [](const DeviceRow* a, const DeviceRow* b) { return a->fallback < b->fallback; });
  std::vector<std::string> names;
  for (const DeviceRow* row : rows) names.push_back(row->name);
  return names;
}

LogLevel log_level(int debug) { return debug >= 1 ? LogLevel::Debug : LogLevel::Off; }

Result<void> start(const Config& config) {
  TRY(core::check_ranges(config));
  TRY(std::vector<Target> targets, parse_targets(config.dev));
  core::set_config(config);
  if (config.debug >= 1)
    set_log_level(log_level(config.debug));
  else if (config.rewrite_trace)
    set_log_level(LogLevel::Info);
  if (config.progress == 1 || (config.progress < 0 && is_progress_preferred())) show_progress();
  if (config.profile) TRY(start_profile(config.profile_file));
  if (!config.graph_file.empty()) TRY(start_graph_page(config.graph_file));
  Registry& registry = Registry::instance();
  for (const DeviceRow& row : device_table())
    if (!row.built) registry.add_unavailable(row.name, std::string(kNotBuilt));
  registry.add("CPU", cpu_factory(targets, config));
  if (cl::is_built()) registry.add("CL", cl_factory(targets, config));
  if (find_device("AMD")->built) registry.add("AMD", amd_factory(targets, config));
  registry.add("NULL", null_factory(targets));
  // No row of the table: it computes nothing, so DEV does not choose it.
  registry.add("DISK", [](DeviceSpec spec) -> DeviceResult {
    return std::make_unique<disk::DiskDevice>(std::move(spec));
  });
  for (const DeviceKind& kind : kinds()) registry.add(kind.name, factory_of(kind, targets));
  registry.set_default_order(default_order(targets, config));
  engine::set_kernel_compiler(&compilers());
  return {};
}

// The log is silent unless DEBUG asks for it, which a slip of that name would have done.
void warn_of_slips(const os::Environment& environment) {
  const std::vector<std::string> found = slips(environment);
  if (found.empty()) return;
  const spdlog::level::level_enum before = log().level();
  if (!log().should_log(spdlog::level::warn)) set_log_level(LogLevel::Warn);
  for (const std::string& slip : found) log().warn("{}", slip);
  log().set_level(before);
}

struct State {
  std::mutex mutex;
  bool started = false;
};

State& state() {
  static State& state = *new State;  // never freed: the first tensor may be a late one
  return state;
}

}  // namespace

Result<void> initialize() {
  State& once = state();
  std::lock_guard lock(once.mutex);
  if (once.started) return {};
  const os::Environment environment = process_environment();
  TRY(Config config, read_environment(environment));
  TRY(start(config));
  warn_of_slips(environment);
  once.started = true;
  return {};
}

Result<void> initialize(const Config& config) {
  State& once = state();
  std::lock_guard lock(once.mutex);
  if (once.started)
    return fail(ErrorKind::Busy, "the runtime has started already, with its own settings");
  TRY(start(config));
  once.started = true;
  return {};
}

Result<void> add_device_kind(DeviceKind kind) {
  State& once = state();
  std::lock_guard lock(once.mutex);
  if (once.started)
    return fail(ErrorKind::Busy, "device {} comes too late: the runtime has started", kind.name);
  for (const DeviceRow& row : device_table()) {
    bool taken = row.name == kind.name;
    for (const RendererRow& renderer : row.renderers) taken |= renderer.name == kind.renderer;
    if (taken)
      return fail(ErrorKind::Invalid, "device {} with renderer {}: {} has one of the names",
                  kind.name, kind.renderer, row.name);
  }
  add_device_row({kind.name, {}, {{kind.renderer, true}}, true, 0});
  kinds().push_back(std::move(kind));
  return {};
}

const DeviceKind* added_kind(std::string_view renderer) {
  for (const DeviceKind& kind : kinds())
    if (kind.renderer == renderer) return &kind;
  return nullptr;
}

}  // namespace doorbell::runtime

// Declared by the engine, so that no include points from tensor/ to runtime/.
extern "C" void doorbell_bootstrap() {
  doorbell::Result<void> started = doorbell::runtime::initialize();
  if (!started) throw std::move(started).error();
}
