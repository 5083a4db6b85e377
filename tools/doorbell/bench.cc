// `doorbell bench`: what there is to measure.
#include "tools/doorbell/bench.h"

#include "tools/doorbell/commands.h"

namespace doorbell::tools {

void add_bench(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("bench", "Measure a device");
  command->require_subcommand(1);
  add_latency(command, status);
  add_throughput(command, status);
}

}  // namespace doorbell::tools
