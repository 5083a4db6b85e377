// The subcommands of `doorbell bench`. Each adds itself to the command line and sets the exit
// status when it is run.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "tools/measure/distribution.h"

namespace doorbell::tools {

void add_latency(CLI::App* bench, int* status);
// Of several processes.
void add_collectives(CLI::App* bench, int* status);
// gemm, bandwidth, attention and convolution.
void add_throughput(CLI::App* bench, int* status);

// Adds --device, --runs and --seconds, which all have. The values in `sampling` are the defaults;
// both targets outlive the parser.
void add_sampling(CLI::App* command, std::string* device, Sampling* sampling);

}  // namespace doorbell::tools
