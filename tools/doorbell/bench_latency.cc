// `doorbell bench latency`: the command line, and the choice of groups. For the measurements see
// latency/series.h, for the output latency/report.h and plot.h.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/os/host.h"
#include "base/os/physical_memory.h"
#include "runtime/progress_bar.h"
#include "tensor/engine/must.h"
#include "tools/doorbell/bench.h"
#include "tools/doorbell/latency/plot.h"
#include "tools/doorbell/latency/report.h"
#include "tools/doorbell/open_device.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string device, svg;
  std::vector<std::string> only;
  bool as_json = false, has_histograms = false;
  Sampling sampling;
  u64 largest = u64{256} << 20;  // bytes of a copy
};

constexpr const char* kExplanation = R"(
FIGURES
  enqueue   what submitting one kernel costs the host: the launch of a program, as eager tensors
            do it; the words of a launch; their submission to a hardware queue
  signal    from a submission to the moment the host sees its signal, which includes the kernel;
            once with a queue that is awake, once after a pause
  gap       by the device's own clock, from the end of a kernel to the begin of the next on the same
            queue, with two timestamps between them; and kernels in a row with none between
  graph     hcq::Graph of 1, 10, 100 and 1000 kernels, each reading what the last one wrote: until
            replay() returns, and until the run is done
  jit       the same chains by jit(f), as users call it
  copy      4 B, 4 KiB, 1 MiB and --largest: host to device, device to host, within the device, and
            by the device's copy queue
  cuda      on a CUDA device, the same kernels without Doorbell: cuLaunchKernel on a stream, and
            CUDA graphs of 1, 10, 100 and 1000 kernels

The kernel adds to one element. A figure that a device cannot have is listed with the reason.
Percentiles are samples (nearest rank). With --json all times are nanoseconds.

EXAMPLES
  doorbell bench latency
  doorbell bench latency --device NULL --only enqueue,graph --histograms
  doorbell bench latency --json --svg latency.svg > latency.json
)";

void write_svg(const std::string& path, const latency::Report& report) {
  const std::string text = latency::plot(report);
  const std::span<const u8> bytes(reinterpret_cast<const u8*>(text.data()), text.size());
  engine::must(os::replace_file(os::host_files(), path, bytes, os::host_random().next()));
}

// Checked first, so that minutes of measuring do not end with a missing folder.
void refuse_bad_path(const std::string& path) {
  if (path.empty()) return;
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (std::filesystem::is_directory(folder) && !std::filesystem::is_directory(path)) return;
  throw fail(ErrorKind::Invalid, "--svg {}: {}", path,
             std::filesystem::is_directory(path) ? "it is a folder"
                                                 : "there is no folder " + folder.string());
}

int run(const Options& options) {
  refuse_bad_path(options.svg);
  hcq::Device* const opened = hcq::Device::of(open_device(options.device));
  if (opened == nullptr)
    throw fail(ErrorKind::Unsupported, "{} only keeps memory: it has no latency to measure",
               options.device);
  hcq::Device& device = *opened;
  latency::Report report = latency::describe(device, options.sampling);
  // Three allocations of this size, and memory for the rest of the machine.
  const i64 largest = std::min(static_cast<i64>(options.largest),
                               static_cast<i64>(os::physical_memory_bytes() / 8));
  const latency::Request request{device, options.sampling, largest};
  runtime::ProgressBar bar(static_cast<i64>(std::size(latency::kGroups)));
  i64 done = 0;
  for (const latency::Group& group : latency::kGroups) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), group.name) == options.only.end())
      continue;
    bar.tell(done++, fmt::format("measuring {}", group.name));
    for (latency::Series& one : group.measure(request)) report.series.push_back(std::move(one));
  }
  bar.clear();
  if (options.as_json)
    fmt::print("{}\n", latency::to_json(report).dump(2));
  else
    latency::print_text(report, options.has_histograms);
  if (!options.svg.empty()) write_svg(options.svg, report);
  return 0;
}

}  // namespace

void add_latency(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "latency", "Dispatch latency of a device: launches, signals, graphs, copies");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  std::vector<std::string> groups;
  for (const latency::Group& group : latency::kGroups) groups.push_back(group.name);
  add_sampling(command, &options->device, &options->sampling);
  command->add_option("--only", options->only, "These groups of figures, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(groups))
      ->option_text("GROUP,...");
  command
      ->add_option("--largest", options->largest,
                   "The largest copy, such as 16MiB; 256MiB by default, less where memory is short")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(u64{4}, u64{1} << 40))
      ->option_text("BYTES");
  command->add_flag("--histograms", options->has_histograms, "A histogram of each figure too");
  command->add_flag("--json", options->as_json, "Print JSON, histograms included");
  command->add_option("--svg", options->svg, "Draw the figures into this file")
      ->option_text("FILE");
  command->footer(kExplanation);
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
