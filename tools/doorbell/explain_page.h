// What `doorbell explain` says of a kernel: figures against the machine's, as text and as a page.
#pragma once

#include <string>

#include "base/util/types.h"

namespace doorbell::tools {

struct ExplainedKernel {
  std::string name, device;
  std::string plan, linear, source, code;  // as of GRAPH_FILE
  f64 flops = 0, bytes = 0;  // of one run: arithmetic, and bytes touched at least once
  f64 ns = 0;                // of one run, on average
  i64 count = 0;             // runs
};

// What the device can do at best; 0: unknown. Bytes come from the level of memory that holds them.
struct Ceiling {
  f64 gflops = 0, gbps = 0;
  std::string level;  // "L2"

  f64 compute_ns(const ExplainedKernel& kernel) const {
    return gflops > 0 ? kernel.flops / gflops : 0;
  }
  f64 memory_ns(const ExplainedKernel& kernel) const { return gbps > 0 ? kernel.bytes / gbps : 0; }
};

// Known for kernels of the CPU, if its speeds were measured.
Ceiling ceiling_of(const ExplainedKernel& kernel);
// A sentence: what bounds it, and the share of that bound which it reaches.
std::string verdict(const ExplainedKernel& kernel, const Ceiling& ceiling);
// The lines of a linear program that are loops and what is inside them, counted.
std::string loop_nest(const std::string& linear);

std::string explain_text(const ExplainedKernel& kernel, const Ceiling& ceiling);
std::string explain_page(const ExplainedKernel& kernel, const Ceiling& ceiling);

}  // namespace doorbell::tools
