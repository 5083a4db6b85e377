// What `doorbell bench latency` measures, group by group: each figure as a Series, with its samples
// or with the reason why this device has none. For the command line see bench_latency.cc, for the
// output report.h and plot.h.
#pragma once

#include <string>
#include <vector>

#include "hcq/device.h"
#include "tools/measure/distribution.h"

namespace doorbell::tools::latency {

struct Series {
  std::string id;           // "graph.launch.100": for machines, the same in all versions
  std::string group;        // "graph"
  std::string what;         // "graph of 100 kernels, launch": for people
  i64 bytes = 0;            // of a copy
  i64 nodes = 0;            // of a graph or of a jitted function
  Distribution time;        // ns
  std::string unavailable;  // why there are no samples

  f64 gigabytes_per_second() const { return static_cast<f64>(bytes) / time.median(); }
  f64 ns_per_node() const { return time.median() / static_cast<f64>(nodes); }
};

struct Request {
  hcq::Device& device;
  Sampling sampling;
  i64 largest_copy;  // bytes
};

// The kernel is the smallest that the device compiles: one element, one input, one output.
std::vector<Series> measure_enqueue(const Request& request);
std::vector<Series> measure_signal(const Request& request);
std::vector<Series> measure_gap(const Request& request);
std::vector<Series> measure_graph(const Request& request);
std::vector<Series> measure_jit(const Request& request);
std::vector<Series> measure_copy(const Request& request);
// None on devices that are not CUDA's.
std::vector<Series> measure_cuda(const Request& request);

struct Group {
  const char* name;
  const char* about;  // "what a launch costs the host", for --help and reports
  std::vector<Series> (*measure)(const Request& request);
};

inline constexpr Group kGroups[] = {
    {"enqueue", "what submitting one kernel costs the host", measure_enqueue},
    {"signal", "from the submission to the moment the host sees its signal", measure_signal},
    {"gap", "the device's own time between kernels of one queue", measure_gap},
    {"graph", "replays of hcq::Graph, of 1 to 1000 kernels", measure_graph},
    {"jit", "calls of a jitted function, of 1 to 1000 kernels", measure_jit},
    {"copy", "copies of 4 bytes to the largest, between host and device", measure_copy},
    {"cuda", "on CUDA devices, the same kernels by the driver API and CUDA graphs", measure_cuda},
};

// "not available on CL, because <why>".
std::string unavailable_on(const core::Device& device, const std::string& why);

}  // namespace doorbell::tools::latency
