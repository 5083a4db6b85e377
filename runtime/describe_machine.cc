// The machine's facts as text, for `doorbell devices --verbose`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/machine.h"

namespace doorbell::runtime {
namespace {

std::string size_text(i64 bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} KiB", bytes >> 10);
}

std::string kind_text(const os::CoreKind& kind) {
  std::vector<std::string> caches;
  for (const os::CpuCache& cache : kind.caches) {
    const std::string shared =
        cache.cores > 1 ? fmt::format(" for {} cores", cache.cores) : std::string();
    caches.push_back(fmt::format("L{} {}{}", cache.level, size_text(cache.bytes), shared));
  }
  return fmt::format(
      "{} core{}: {}", kind.cores, kind.cores == 1 ? "" : "s",
      caches.empty() ? "caches unknown" : fmt::format("{}", fmt::join(caches, ", ")));
}

// Of the words that kernels are made of, those that this processor has.
std::string instructions_text(const os::CpuTopology& topology) {
  std::vector<std::string_view> found;
  for (const char* word : {"sse4_2", "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512_vnni",
                           "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_int8", "amx_bf16",
                           "asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2"})
    if (topology.has(word)) found.push_back(word);
  return fmt::format("{}", fmt::join(found, " "));
}

std::string fma_text(const cpu::CoreSpeed& speed, const cpu::CoreSpeed::Fma& fma, int bytes) {
  return fmt::format(
      "  multiply-adds of {} bits: {:.1f} a cycle, {:.0f} cycles each, {:.0f} GFLOPS\n", 8 * bytes,
      speed.add_ns / fma.each_ns, fma.chain_ns / speed.add_ns, 2.0 * bytes / 4 / fma.each_ns);
}

}  // namespace

std::string describe(const Machine& machine) {
  const os::CpuTopology& topology = machine.topology;
  if (topology.cpus.empty()) return "  the system lists no processors\n";
  std::string text;
  const int cores = topology.cores(), cpus = static_cast<int>(topology.cpus.size());
  text += fmt::format("  {}: {} core{}, {} hardware thread{}\n",
                      topology.model.empty() ? "model unknown" : topology.model, cores,
                      cores == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
  for (const os::CoreKind& kind : topology.kinds) text += "  " + kind_text(kind) + "\n";
  if (const std::string words = instructions_text(topology); !words.empty())
    text += "  instructions: " + words + "\n";
  if (!machine.speed) return text + "  speeds are not measured without a cache on disk\n";
  const cpu::CoreSpeed& speed = *machine.speed;
  text += fmt::format("  clock: {:.2f} GHz while it was measured\n", 1 / speed.add_ns);
#if defined(__aarch64__)
  constexpr int kNarrow = 16;
#else
  constexpr int kNarrow = 32;
#endif
  if (speed.narrow.each_ns > 0) text += fma_text(speed, speed.narrow, kNarrow);
  if (speed.wide.each_ns > 0) text += fma_text(speed, speed.wide, 64);
  text += "  loads of one core, GB/s:";
  const std::pair<const char*, f64> levels[] = {
      {"L1", speed.l1}, {"L2", speed.l2}, {"L3", speed.l3}, {"memory", speed.memory}};
  const char* between = " ";
  for (const auto& [name, rate] : levels) {
    if (rate <= 0) continue;
    text += fmt::format("{}{} {:.0f}", between, name, rate);
    between = ", ";
  }
  return text + "\n";
}

}  // namespace doorbell::runtime
