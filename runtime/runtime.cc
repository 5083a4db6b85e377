// Registers everything, once.
#include "runtime/runtime.h"

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/util/log.h"
#include "base/util/try.h"
#include "core/device/registry.h"
#include "runtime/compilers.h"
#include "runtime/device_table.h"
#include "runtime/environment.h"
#include "runtime/extension.h"
#include "runtime/processes.h"
#include "runtime/profile.h"
#include "runtime/progress_bar.h"
#include "runtime/target.h"
#include "tensor/dist/connect.h"
#include "tensor/engine/kernel_compiler.h"

namespace doorbell::runtime {
namespace {

using core::Config;
using core::Device;
using core::DeviceSpec;
using core::Registry;

// Fills in what a target says about the device being opened.
void apply_target(const std::vector<Target>& targets, const DeviceKind& kind, DeviceSpec* spec) {
  if (const Target* target = target_for(targets, kind.name)) {
    spec->iface = target->iface;
    spec->indices = target->indices;
    spec->renderer = target->renderer;
    spec->arch = target->arch;
  }
  if (!spec->renderer.empty()) return;
  for (const NamedRenderer& renderer : renderers_of(kind)) {
    if (!renderer.is_built()) continue;
    spec->renderer = renderer.name;
    return;
  }
}

// `kind` is of the table, whose rows stay where they are.
Registry::Factory factory_of(const DeviceKind& kind, const std::vector<Target>& targets,
                             const Config& config) {
  return [=, &kind](DeviceSpec spec) -> Result<std::unique_ptr<Device>> {
    if (kind.computes()) apply_target(targets, kind, &spec);
    return kind.open(std::move(spec), config);
  };
}

std::vector<std::string> default_order(const std::vector<Target>& targets, const Config& config) {
  if (!targets.empty() && !targets[0].device.empty()) return {targets[0].device};
  std::vector<std::string> names;
  for (const DeviceKind& kind : device_table())
    if (kind.open && kind.may_be_default && kind.may_be_default(config)) names.push_back(kind.name);
  return names;
}

LogLevel log_level(int debug) { return debug >= 1 ? LogLevel::Debug : LogLevel::Off; }

Result<void> start(const Config& config) {
  TRY(core::check_ranges(config));
  TRY(check_device_settings(config.device_settings));
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
  for (const DeviceKind& kind : device_table()) {
    if (kind.open)
      registry.add(kind.name, factory_of(kind, targets, config));
    else
      registry.add_unavailable(kind.name, std::string(kNotBuilt));
  }
  registry.set_default_order(default_order(targets, config));
  engine::set_kernel_compiler(&compilers());
  dist::detail::set_connect(&connect_processes);
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

// By the names that NULL has for renderers, of which each means one.
bool shares_renderer(const DeviceKind& a, const DeviceKind& b) {
  for (const RendererKind& of_a : a.renderers)
    for (const RendererKind& of_b : b.renderers)
      if (of_a.name_for_null() == of_b.name_for_null()) return true;
  return false;
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
  std::string asked;
  for (const RendererKind& renderer : kind.renderers)
    asked += (asked.empty() ? "" : ", ") + renderer.name;
  for (const DeviceKind& other : device_table()) {
    if (other.name != kind.name && !shares_renderer(other, kind)) continue;
    return fail(ErrorKind::Invalid, "device {} with renderer {}: {} has one of the names",
                kind.name, asked, other.name);
  }
  add_to_table(std::move(kind));
  return {};
}

}  // namespace doorbell::runtime

// Declared by the engine, so that no include points from tensor/ to runtime/.
extern "C" void doorbell_bootstrap() {
  doorbell::Result<void> started = doorbell::runtime::initialize();
  if (!started) throw std::move(started).error();
}
