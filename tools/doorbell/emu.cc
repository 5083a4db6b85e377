// `doorbell emu -- COMMAND`: runs any program that drives AMD GPUs through /dev/kfd on emulated
// ones. The program gets the preload shim (emulator/preload), and a folder with the emulated
// machine's /sys and /dev. With --gpu sm_86 it is one that uses NVIDIA's GPUs, through the nodes of
// NVIDIA's kernel modules or through the CUDA driver API: it gets an emulated libcuda too.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/os/process.h"
#include "emulator/amd/all_checks.h"
#include "emulator/amd/breakpoints.h"
#include "emulator/amd/machine_text.h"
#include "emulator/core/checks.h"
#include "emulator/core/number.h"
#include "emulator/core/trace_file.h"
#include "emulator/cuda/chip.h"
#include "emulator/cuda/rules.h"
#include "emulator/nv/model.h"
#include "emulator/preload/system_root.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/emu_counts.h"
#include "tools/doorbell/or_throw.h"
#include "tools/doorbell/preload.h"
#include "tools/doorbell/trace_options.h"

namespace doorbell::tools {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string gpus = "gfx1100", checks = "warn", seed, hang_after, driver;
  std::string dump_waves, break_count, break_file;
  std::vector<std::string> breaks;
  TraceOptions trace;
  bool break_lds = false;
  bool adversarial = false, leaks = false, rules = false, count = false, json = false;
  bool races = false, bare = false;
  std::vector<std::string> command;
};

// Removed when the command has ended, also by an error.
class Root {
 public:
  Root() {
    std::string name = (fs::temp_directory_path() / "doorbell-emu-XXXXXX").string();
    if (!mkdtemp(name.data())) throw fail_errno(errno, "make a folder {}", name);
    path_ = name;
  }
  ~Root() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

int count_lines(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  int lines = 0;
  while (std::getline(file, line)) ++lines;
  return lines;
}

std::string_view name(emu::Power power) {
  switch (power) {
    case emu::Power::Full: return "always";
    case emu::Power::Partial: return "mostly";
    default: return "never";
  }
}

int print_rules() {
  fmt::print("{:<14} {:<8} {:<8} {}\n", "rule", "EMUKFD", "emu", "the rule [source]");
  for (const emu::Check* check : emu::amdgpu::all_checks())
    fmt::print("{:<14} {:<8} {:<8} {}{} [{}]\n", check->id, name(check->trapped),
               name(check->polled), check->rule, check->slow ? " (slow: off unless named)" : "",
               check->cites);
  for (const emu::Check* check : emu::cuda::all_checks())
    fmt::print("{:<14} {:<8} {:<8} {} [{}]\n", check->id, name(check->trapped), name(check->polled),
               check->rule, check->cites);
  return 0;
}

std::string counts_path(const Root& root) { return root.path() + "/counts"; }

// What follows the command: counts and errors. The command fails even if the program did not
// notice.
int finish(int status, const Root& root, const Options& options) {
  if (options.count) print_counts(or_throw(read_counts(counts_path(root))), options.json);
  const int errors = count_lines(root.path() + "/errors");
  if (errors != 0)
    std::fprintf(stderr, "doorbell: %d broken rule%s in %s\n", errors, errors == 1 ? "" : "s",
                 options.command[0].c_str());
  return status == 0 && errors != 0 ? 1 : status;
}

void set_machine(const Options& options, const Root& root) {
  setenv("DOORBELL_EMU_ROOT", root.path().c_str(), 1);
  setenv("EMU_GPU", options.gpus.c_str(), 1);
  setenv("EMU_CHECKS", options.checks.c_str(), 1);
  setenv("EMU_ADVERSARIAL", options.adversarial ? "1" : "0", 1);
  setenv("EMU_SEED", options.seed.c_str(), 1);
  setenv("EMU_HANG_AFTER", options.hang_after.c_str(), 1);
  setenv("EMU_DRIVER", options.driver.c_str(), 1);
  setenv("EMU_LEAKS", options.leaks ? "1" : "0", 1);
  setenv("EMU_COUNTS", options.count ? counts_path(root).c_str() : "", 1);
}

// NVIDIA's nodes, for the shim to find.
void make_nvidia_nodes(const Root& root, usize gpus) {
  const fs::path folder = fs::path(root.path()) / "dev";
  fs::create_directories(folder);
  for (const char* name : {"nvidiactl", "nvidia-uvm"}) std::ofstream(folder / name).flush();
  for (usize gpu = 0; gpu < gpus; ++gpu)
    std::ofstream(folder / fmt::format("nvidia{}", gpu)).flush();
}

// The list of --check, which comes behind what --races asks for.
std::string with_races(const Options& options, std::string_view rules) {
  return options.races ? fmt::format("{}=error,{}", rules, options.checks) : options.checks;
}

// A client of NVIDIA's kernel modules, or of the CUDA driver API: it finds the modules' nodes, and
// loads the emulated libcuda.
int run_nvidia(Options options) {
  options.checks = with_races(options, "NV-RACE");
  or_throw(emu::Checks().configure(options.checks, emu::cuda::all_checks()));
  const usize gpus = or_throw(emu::cuda::parse_gpus(options.gpus)).size();
  for (const auto& [option, is_given] : {std::pair("--dump-waves", !options.dump_waves.empty()),
                                         std::pair("--break", !options.breaks.empty())})
    if (is_given)
      throw fail(ErrorKind::Unsupported, "{} is for AMD's GPUs, {} is NVIDIA's", option,
                 options.gpus);
  const std::string shim = find_preload("libdoorbell_preload.so");
  const Root root;
  if (emu::nvgpu::parse_models(options.gpus)) make_nvidia_nodes(root, gpus);
  set_machine(options, root);
  set_trace(options.trace, "EMU_TRACE", "EMU_TRACE_ONLY", "EMU_TRACE_LIMIT");
  const fs::path library = find_preload("libcuda.so.1");
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string folders = library.parent_path().string() +
                              (before != nullptr && *before != 0 ? ":" + std::string(before) : "");
  setenv("LD_LIBRARY_PATH", folders.c_str(), 1);
  return finish(run_preloaded(shim, options.command), root, options);
}

void set_breakpoints(const Options& options) {
  const std::string list = fmt::format("{}", fmt::join(options.breaks, ","));
  or_throw(emu::amdgpu::Breakpoints::parse(list, {}));
  if (list.empty() && (!options.break_count.empty() || !options.break_file.empty()))
    throw fail(ErrorKind::Invalid, "--break-count and --break-file need a --break");
  setenv("EMU_BREAK", list.c_str(), 1);
  setenv("EMU_BREAK_COUNT", options.break_count.c_str(), 1);
  setenv("EMU_BREAK_LDS", options.break_lds ? "1" : "0", 1);
  setenv("EMU_BREAK_FILE", "", 1);
  if (!options.break_file.empty())
    setenv("EMU_BREAK_FILE", or_throw(emu::TraceFile::create(options.break_file)).c_str(), 1);
}

int run(const Options& given) {
  Options options = given;
  if (options.rules) return print_rules();
  if (options.json && !options.count) throw fail(ErrorKind::Invalid, "--json needs --count");
  if (options.command.empty()) throw fail(ErrorKind::Invalid, "no program is named");
  for (const auto& [what, text] :
       {std::pair("seed", &options.seed), std::pair("--hang-after", &options.hang_after),
        std::pair("--break-count", &options.break_count)})
    if (!text->empty()) or_throw(emu::parse_number(what, *text));
  if (options.gpus.starts_with("sm_")) {
    if (options.bare) throw fail(ErrorKind::Unsupported, "--bare is for AMD's GPUs");
    return run_nvidia(options);
  }
  options.checks = with_races(options, "AMD-RACE");
  or_throw(emu::Checks().configure(options.checks, emu::amdgpu::all_checks()));
  // Checked here: the program would fail only when it opens a GPU.
  const std::vector<std::string> gpus = or_throw(emu::amdgpu::parse_gpus(options.gpus));
  const std::string library = find_preload("libdoorbell_preload.so");
  Root root;
  or_throw(options.bare ? emu::write_bare_root(root.path(), gpus)
                        : emu::write_system_root(root.path(), gpus));

  set_machine(options, root);
  if (!options.dump_waves.empty())
    setenv("EMU_DUMP_WAVES", or_throw(emu::TraceFile::create(options.dump_waves)).c_str(), 1);
  set_breakpoints(options);
  set_trace(options.trace, "EMU_TRACE", "EMU_TRACE_ONLY", "EMU_TRACE_LIMIT");
  return finish(run_preloaded(library, options.command), root, options);
}

}  // namespace

void add_emu(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("emu", "Run a program on emulated GPUs");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command
      ->add_option("--gpu", options->gpus,
                   "GPUs, in order: gfx1100,gfx942:CPX of AMD, sm_90,sm_86 of NVIDIA")
      ->capture_default_str();
  command
      ->add_option("--check", options->checks,
                   "off, warn or error for all rules, or a list: warn,AMD-QUE=error")
      ->capture_default_str();
  command
      ->add_option("--trace", options->trace.file,
                   "A file for ioctls, packets, faults; .json for Perfetto, .jsonl JSON lines")
      ->option_text("FILE");
  add_trace_options(command, "--trace-only", "--trace-limit", &options->trace);
  command->add_option("--seed", options->seed, "Of the order in which waves and queues run");
  command->add_option("--hang-after", options->hang_after,
                      "Wave instructions after which a kernel hangs and its queue is reset");
  command->add_option("--driver", options->driver,
                      "The version of NVIDIA's kernel modules, else 580.95.05");
  command->add_flag("--adversarial", options->adversarial,
                    "The weakest legal hardware: stale caches, late waves, poison");
  command
      ->add_option("--dump-waves", options->dump_waves,
                   "A file for the registers of the waves of each kernel that stops its queue")
      ->option_text("FILE");
  command
      ->add_option("--break", options->breaks,
                   "Tell a wave's registers at KERNEL, KERNEL:BYTES or 0xADDRESS; may be repeated")
      ->option_text("WHERE")
      ->allow_extra_args(false);
  command->add_option("--break-count", options->break_count, "How many waves of each, else 1");
  command->add_option("--break-file", options->break_file, "Where, else to standard error")
      ->option_text("FILE");
  command->add_flag("--bare", options->bare,
                    "GPUs that no kernel driver has: PCI devices under /sys (gfx942, gfx1100, "
                    "gfx1201)");
  command->add_flag("--break-lds", options->break_lds, "With the work group's LDS");
  command->add_flag("--count", options->count,
                    "Print what each kernel executed, when the program has ended");
  command->add_flag("--json", options->json, "Print the counts as JSON");
  command->add_flag("--leaks", options->leaks,
                    "Tell what the program leaves when it ends (AMD-QUE-005, NV-RM-009)");
  command->add_flag(
      "--races", options->races,
      "Judge whether anything orders what waves, kernels, queues and GPUs do in LDS and memory "
      "(AMD-RACE, NV-RACE at error); slower");
  command->add_flag("--rules", options->rules,
                    "List the rules, and whether each door sees them broken");
  command->add_option("command", options->command, "The program and its arguments, after --");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
