// `doorbell devices`: which devices this version knows, through which interfaces and renderers, and
// which of them open on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/device/registry.h"
#include "runtime/device_table.h"
#include "runtime/machine.h"
#include "runtime/runtime.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

struct Line {
  std::string device, interfaces, renderers, state;
  bool available = false;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Line describe(const runtime::DeviceKind& kind) {
  Line line;
  line.device = kind.name;
  line.interfaces = kind.interfaces.empty() ? "-" : join(kind.interfaces);
  std::vector<std::string> renderers;
  // Names that are not built are in parentheses, but for NULL, which would list them all.
  for (const runtime::NamedRenderer& renderer : runtime::renderers_of(kind)) {
    if (renderer.is_built())
      renderers.push_back(renderer.name);
    else if (!kind.has_all_renderers)
      renderers.push_back("(" + renderer.name + ")");
  }
  line.renderers = join(renderers);
  Result<core::Device*> device = core::Registry::instance().open(kind.name);
  line.available = device.has_value();
  if (device)
    line.state = "available: " + (*device)->description();
  else
    line.state = kind.open ? device.error().message : std::string(runtime::kNotBuilt);
  return line;
}

// Compilers that may be missing, by their names for NULL.
struct CompilerLine {
  std::string renderer, state;
  bool available = false;
};

std::vector<CompilerLine> describe_compilers() {
  std::vector<CompilerLine> lines;
  for (const runtime::NamedRenderer& renderer :
       runtime::renderers_of(*runtime::find_device("NULL"))) {
    if (renderer.kind->describe == nullptr) continue;
    Result<std::string> state = renderer.kind->describe();
    lines.push_back({renderer.name, state ? *state : state.error().message, state.has_value()});
  }
  return lines;
}

void print_compilers() {
  fmt::print("\ncompilers for a chip, as in NULL:NV_CUDA:sm_90\n");
  for (const CompilerLine& line : describe_compilers()) {
    fmt::print("  {:<7}  {}{}\n", line.renderer, line.available ? "available: " : "", line.state);
  }
}

nlohmann::json compilers_json() {
  nlohmann::json compilers = nlohmann::json::array();
  for (const CompilerLine& line : describe_compilers()) {
    compilers.push_back(
        {{"renderer", line.renderer}, {"available", line.available}, {"state", line.state}});
  }
  return compilers;
}

void print_table(const std::vector<Line>& lines, const std::string& chosen) {
  usize device = 6, interfaces = 10, renderers = 9;
  for (const Line& line : lines) {
    device = std::max(device, line.device.size());
    interfaces = std::max(interfaces, line.interfaces.size());
    renderers = std::max(renderers, line.renderers.size());
  }
  const auto row = [&](char mark, const std::string& a, const std::string& b, const std::string& c,
                       const std::string& d) {
    fmt::print("{} {:<{}}  {:<{}}  {:<{}}  {}\n", mark, a, device, b, interfaces, c, renderers, d);
  };
  row(' ', "device", "interfaces", "renderers", "state");
  for (const Line& line : lines)
    row(line.device == chosen ? '*' : ' ', line.device, line.interfaces, line.renderers,
        line.state);
  print_compilers();
  fmt::print("\n* the default device; (X) is not part of this version; set DEV to choose\n");
}

void print_json(const std::vector<Line>& lines, const std::string& chosen) {
  nlohmann::json devices = nlohmann::json::array();
  usize at = 0;
  for (const runtime::DeviceKind* kind : runtime::computing_devices()) {
    const Line& line = lines[at++];
    nlohmann::json renderers = nlohmann::json::array();
    for (const runtime::NamedRenderer& renderer : runtime::renderers_of(*kind))
      renderers.push_back({{"name", renderer.name}, {"built", renderer.is_built()}});
    devices.push_back({{"device", kind->name},
                       {"interfaces", kind->interfaces},
                       {"renderers", renderers},
                       {"available", line.available},
                       {"default", kind->name == chosen},
                       {"state", line.state}});
  }
  fmt::print("{}\n", nlohmann::json{{"devices", devices}, {"compilers", compilers_json()}}.dump(2));
}

int run(bool json, bool verbose) {
  or_throw(runtime::initialize());
  std::vector<Line> lines;
  for (const runtime::DeviceKind* kind : runtime::computing_devices())
    lines.push_back(describe(*kind));
  Result<core::Device*> chosen = core::Registry::instance().default_device();
  const std::string name = chosen ? (*chosen)->name() : "";
  if (json)
    print_json(lines, name);
  else
    print_table(lines, name);
  if (verbose) fmt::print("\nthis machine\n{}", runtime::describe(runtime::this_machine()));
  return 0;
}

}  // namespace

void add_devices(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("devices", "List devices, interfaces and renderers");
  auto json = std::make_shared<bool>(false);  // owned by the parser and the callback
  CLI::Option* as_json = command->add_flag("--json", *json, "Print JSON");
  auto verbose = std::make_shared<bool>(false);
  command->add_flag("--verbose", *verbose, "Print what is known of this machine's processor too")
      ->excludes(as_json);
  command->callback([=] { *status = run(*json, *verbose); });
}

}  // namespace doorbell::tools
