// `doorbell amd probe`: the first hour on an AMD card in one command. The steps are in
// tools/amd_probe; this opens the kernel's GPU, or an emulated one, and prints. For `doorbell amd
// discovery` see amd_discovery.cc, for bring-up
// without a kernel driver amd_bare.cc.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/os/host.h"
#include "base/os/process.h"
#include "base/util/try.h"
#include "runtime/device_kind.h"
#include "runtime/emulated/emulated_amd.h"
#include "runtime/environment.h"
#include "runtime/target.h"
#include "tools/amd_probe/probe.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string device = "KFD+AMD";
  usize gpu = 0;
  bool faults = false, large = false, json = false;
  std::string recorded;  // a file
};

// The emulated machine, while its Kfd is used.
struct Opened {
  std::unique_ptr<runtime::EmulatedAmd> emulated;
  std::shared_ptr<amd::Kfd> kfd;
};

Opened open_kfd(const Options& options) {
  const auto targets = or_throw(runtime::parse_targets(options.device, "--device"));
  if (targets.size() != 1 || targets[0].device != "AMD")
    throw fail(ErrorKind::Invalid, "--device is {}, expected KFD+AMD or EMUKFD+AMD",
               options.device);
  const std::string& iface = targets[0].iface;
  Opened opened;
  if (iface.empty() || iface == "KFD") {
    opened.kfd = or_throw(
        amd::Kfd::open(os::host_files(), os::host_clock(), {.trap_registers = options.faults}));
  } else if (iface == "EMUKFD") {
    const auto config = or_throw(runtime::read_environment(runtime::process_environment()));
    const auto settings =
        or_throw(read_settings<runtime::EmulatorSettings>(runtime::setting_values(config)));
    opened.emulated = or_throw(runtime::open_emulated_amd(settings, targets[0].arch));
    opened.kfd = opened.emulated->kfd();
  } else {
    throw fail(ErrorKind::Invalid, "--device is {}, expected KFD+AMD or EMUKFD+AMD",
               options.device);
  }
  return opened;
}

// Whether the probe finds all as expected, by this program in a process of its own.
Result<bool> probe_in_other_process(usize gpu) {
  const std::vector<std::string> command = {"/proc/self/exe", "amd",   "probe",
                                            "--json",         "--gpu", fmt::format("{}", gpu)};
  TRY(const os::ProcessOutput output, os::run_process(command));
  return output.exit_status == 0;
}

nlohmann::json read_record(const std::string& path) {
  const std::string text = or_throw(os::read_text(os::host_files(), path));
  const nlohmann::json record = nlohmann::json::parse(text, nullptr, false);
  if (!record.is_object() || !record.contains("steps"))
    throw fail(ErrorKind::Corrupt, "{} is not what doorbell amd probe --json printed", path);
  return record["steps"];
}

int run(const Options& options) {
  const nlohmann::json recorded =
      options.recorded.empty() ? nlohmann::json() : read_record(options.recorded);
  const Opened opened = open_kfd(options);
  ProbeOptions probe{.gpu = options.gpu, .large = options.large, .faults = options.faults};
  if (options.faults && opened.emulated == nullptr)
    probe.in_other_process = [&] { return probe_in_other_process(options.gpu); };
  if (!options.json)
    probe.tell = [](const StepReport& step) {
      fmt::print("{}\n", to_line(step));
      std::fflush(stdout);  // a step may hang the machine
    };
  const std::vector<StepReport> steps = or_throw(run_probe(opened.kfd, probe));
  const bool is_ok = all_as_expected(steps);
  if (options.json)
    fmt::print("{}\n", nlohmann::json{{"ok", is_ok}, {"steps", to_json(steps)}}.dump(2));
  if (recorded.is_null()) return is_ok ? 0 : 1;
  const std::vector<std::string> differences = compare(recorded, steps);
  for (const std::string& line : differences) fmt::print(stderr, "doorbell: {}\n", line);
  return is_ok && differences.empty() ? 0 : 1;
}

}  // namespace

void add_amd(CLI::App* app, int* status) {
  CLI::App* amd = app->add_subcommand("amd", "Look at AMD's GPUs");
  amd->require_subcommand(1);
  CLI::App* command = amd->add_subcommand(
      "probe",
      "Try what the driver takes for granted of a GPU, step by step; name the fact that is "
      "wrong");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command
      ->add_option("--device", options->device,
                   "KFD+AMD, the kernel's (default), or EMUKFD+AMD, an emulated one")
      ->option_text("DEV");
  command->add_option("--gpu", options->gpu, "Which one of the kernel's topology, 0 by default")
      ->option_text("N");
  command->add_flag("--faults", options->faults,
                    "Also a hang, an illegal instruction and a memory fault: may disturb displays");
  command->add_flag("--large", options->large, "Also the copy engine's largest packet, 1 GiB");
  command->add_flag("--json", options->json, "Print JSON, with the packets and what they did");
  command
      ->add_option("--compare", options->recorded,
                   "What --json printed elsewhere: name the steps that go otherwise here")
      ->option_text("FILE");
  command->callback([options, status] { *status = run(*options); });
  add_amd_discovery(amd, status);
  add_amd_bare(amd, status);
}

}  // namespace doorbell::tools
