// Writing the files. Sizes of caches are those of the vendors' data sheets; the forms of the files
// those of Documentation/ABI/{stable,testing}/sysfs-devices-system-cpu and of a machine with Zen 4.
#include "tests/support/fake_cpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace doorbell::testing {
namespace {

constexpr const char* kFolder = "/sys/devices/system/cpu";

// The CPUs of a core, by the number of the core.
std::vector<std::vector<int>> number_cpus(const FakeMachine& machine) {
  std::vector<std::vector<int>> cores;
  int next = 0;
  for (const FakeCores& kind : machine.kinds)
    for (int core = 0; core < kind.cores; ++core) {
      cores.push_back({next++});
      for (int thread = 1; thread < kind.threads && !machine.siblings_last; ++thread)
        cores.back().push_back(next++);
    }
  usize core = 0;
  for (const FakeCores& kind : machine.kinds)
    for (int of_kind = 0; of_kind < kind.cores; ++of_kind, ++core)
      for (int thread = 1; thread < kind.threads && machine.siblings_last; ++thread)
        cores[core].push_back(next++);
  return cores;
}

}  // namespace

void add_cpus(FakeFiles& files, const FakeMachine& machine) {
  const std::vector<std::vector<int>> cores = number_cpus(machine);
  usize count = 0, first = 0;
  for (const FakeCores& kind : machine.kinds) {
    for (usize core = first; core < first + static_cast<usize>(kind.cores); ++core) {
      for (int cpu : cores[core]) {
        const std::string folder = fmt::format("{}/cpu{}/", kFolder, cpu);
        ++count;
        files.add(folder + "topology/thread_siblings_list",
                  fmt::format("{}\n", fmt::join(cores[core], ",")));
        if (kind.capacity) files.add(folder + "cpu_capacity", fmt::format("{}\n", kind.capacity));
        if (kind.max_khz)
          files.add(folder + "cpufreq/cpuinfo_max_freq", fmt::format("{}\n", kind.max_khz));
        for (usize index = 0; index < kind.caches.size(); ++index) {
          const FakeCache& cache = kind.caches[index];
          const std::string in = fmt::format("{}cache/index{}/", folder, index);
          const bool all = cache.sharers == 0;
          const auto sharers = all ? cores.size() : static_cast<usize>(cache.sharers);
          const usize begin = all ? 0 : first + (core - first) / sharers * sharers;
          std::vector<int> sharing;
          for (usize other = begin; other < std::min(begin + sharers, cores.size()); ++other)
            sharing.insert(sharing.end(), cores[other].begin(), cores[other].end());
          std::ranges::sort(sharing);
          files.add(in + "level", fmt::format("{}\n", cache.level));
          files.add(in + "type", fmt::format("{}\n", cache.type));
          files.add(in + "size", fmt::format("{}\n", cache.size));
          files.add(in + "coherency_line_size", "64\n");
          files.add(in + "shared_cpu_list", fmt::format("{}\n", fmt::join(sharing, ",")));
        }
      }
    }
    first += static_cast<usize>(kind.cores);
  }
  files.add(std::string(kFolder) + "/online", fmt::format("0-{}\n", count - 1));
  files.add("/proc/cpuinfo", machine.cpuinfo);
}

FakeMachine zen4() {
  return {.kinds = {{8,
                     1,
                     {{1, "Data", "32K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "1024K"},
                      {3, "Unified", "32768K", 8}}}},
          .cpuinfo =
              "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\n"
              "model name\t: AMD EPYC 9B14\nflags\t\t: fpu sse4_2 fma f16c avx2 avx512f "
              "avx512vl avx512_bf16 avx512_vnni\n\nprocessor\t: 1\nflags\t\t: fpu\n"};
}

FakeMachine zen5() {
  return {.kinds = {{8,
                     2,
                     {{1, "Data", "48K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "1024K"},
                      {3, "Unified", "32768K", 8}},
                     nullptr,
                     "5752000"}},
          .cpuinfo =
              "processor\t: 0\nmodel name\t: AMD Ryzen 9 9950X 16-Core Processor\n"
              "flags\t\t: fpu fma avx2 avx512f avx512vl avx512_bf16 avx512_vnni avx_vnni\n",
          .siblings_last = true};
}

FakeMachine cascade_lake() {
  return {.kinds = {{20,
                     2,
                     {{1, "Data", "32K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "1024K"},
                      {3, "Unified", "28160K", 20}},
                     nullptr,
                     "3900000"}},
          .cpuinfo =
              "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz\n"
              "flags\t\t: fpu fma avx2 avx512f avx512vl avx512_vnni\n",
          .siblings_last = true};
}

FakeMachine alder_lake() {
  return {.kinds = {{8,
                     2,
                     {{1, "Data", "48K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "1280K"},
                      {3, "Unified", "30720K", 0}},
                     nullptr,
                     "5100000"},
                    {8,
                     1,
                     {{1, "Data", "32K"},
                      {1, "Instruction", "64K"},
                      {2, "Unified", "2048K", 4},
                      {3, "Unified", "30720K", 0}},
                     nullptr,
                     "3900000"}},
          .cpuinfo =
              "processor\t: 0\nmodel name\t: 12th Gen Intel(R) Core(TM) i9-12900K\n"
              "flags\t\t: fpu fma avx2 avx_vnni\n"};
}

FakeMachine haswell() {
  return {.kinds = {{4,
                     2,
                     {{1, "Data", "32K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "256K"},
                      {3, "Unified", "8192K", 4}},
                     nullptr,
                     "3900000"}},
          .cpuinfo =
              "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i7-4770 CPU @ 3.40GHz\n"
              "flags\t\t: fpu fma f16c avx2\n",
          .siblings_last = true};
}

FakeMachine rk3588() {
  return {.kinds = {{4,
                     1,
                     {{1, "Data", "32K"},
                      {1, "Instruction", "32K"},
                      {2, "Unified", "128K"},
                      {3, "Unified", "3072K", 0}},
                     "530"},
                    {4,
                     1,
                     {{1, "Data", "64K"},
                      {1, "Instruction", "64K"},
                      {2, "Unified", "512K"},
                      {3, "Unified", "3072K", 0}},
                     "1024"}},
          .cpuinfo =
              "processor\t: 0\nBogoMIPS\t: 48.00\n"
              "Features\t: fp asimd fphp asimdhp asimddp\nCPU implementer\t: 0x41\n"
              "CPU architecture: 8\nCPU part\t: 0xd05\n\nprocessor\t: 1\n"};
}

}  // namespace doorbell::testing
