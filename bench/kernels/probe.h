// The machine's peaks, measured beside the kernels: multiply-adds per second, and bytes per second
// from and to memory. Measured in C++, so that a ratio to the peak needs no data sheet.
#pragma once

#include "base/util/types.h"

namespace doorbell::bench {

struct Peak {
  f64 gflops = 0;     // f32 fused multiply-adds, two operations each
  f64 read_gbps = 0;  // summing 256 MiB
  f64 copy_gbps = 0;  // from 256 MiB to 256 MiB with ordinary stores; bytes read plus written
};

// By `threads` threads at once. `smoke`: a few milliseconds and a meaningless figure.
Peak probe_machine(int threads, bool smoke);

}  // namespace doorbell::bench
