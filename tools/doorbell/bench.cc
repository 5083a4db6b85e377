// `doorbell bench`: what there is to measure.
#include "tools/doorbell/bench.h"

#include <fmt/format.h>

#include "tools/doorbell/commands.h"

namespace doorbell::tools {

void add_bench(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("bench", "Measure a device");
  command->require_subcommand(1);
  add_latency(command, status);
  add_throughput(command, status);
  add_collectives(command, status);
}

void add_sampling(CLI::App* command, std::string* device, Sampling* sampling) {
  command->add_option("--device", *device, "Where to measure, as DEV says it: CPU:CLANG")
      ->option_text("DEV");
  command
      ->add_option("--runs", sampling->runs,
                   fmt::format("Samples per figure, {} by default", sampling->runs))
      ->check(CLI::Range(1, 1000000))
      ->option_text("N");
  command
      ->add_option("--seconds", sampling->seconds,
                   fmt::format("No more samples of one figure after this, {:g} by default",
                               sampling->seconds))
      ->check(CLI::Range(0.0, 3600.0))
      ->option_text("S");
}

}  // namespace doorbell::tools
