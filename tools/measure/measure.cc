// Medians, because a shared machine's noise is one-sided and bursty.
#include "tools/measure/measure.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace doorbell::tools {
namespace {

f64 time_calls(const std::function<void()>& body, usize calls) {
  const f64 start = now();
  for (usize i = 0; i < calls; ++i) body();
  return (now() - start) / static_cast<f64>(calls);
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::string vector_width() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "AVX-512";
  if (__builtin_cpu_supports("avx2")) return "AVX2";
  return "SSE";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "vectors unknown";
#endif
}

}  // namespace

f64 now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<f64>(since).count();
}

Timing measure(const std::function<void()>& body, const MeasureOptions& options) {
  for (int i = 0; i < options.warmup; ++i) body();
  const f64 once = time_calls(body, 1);
  const usize calls = std::max<usize>(1, static_cast<usize>(options.sample_seconds / once));
  std::vector<f64> samples;
  if (calls == 1) samples.push_back(once);  // it is as long as a sample
  const f64 start = now();
  while (samples.size() < options.samples &&
         (samples.size() < 3 || now() - start < options.limit_seconds))
    samples.push_back(time_calls(body, calls));
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[0], samples.size()};
}

f64 peak_memory_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<f64>(usage.ru_maxrss) / 1024;
}

std::string machine() {
  return fmt::format("{}, {} hardware threads, {}", processor_name(),
                     std::thread::hardware_concurrency(), vector_width());
}

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
std::string own_folder() { return std::filesystem::path(own_path()).parent_path().string(); }

}  // namespace doorbell::tools
