// The subcommands of `doorbell bench`. Each adds itself to the command line and sets the exit
// status when it is run.
#pragma once

#include <CLI/CLI.hpp>

namespace doorbell::tools {

void add_latency(CLI::App* bench, int* status);
// gemm, bandwidth and attention.
void add_throughput(CLI::App* bench, int* status);

}  // namespace doorbell::tools
