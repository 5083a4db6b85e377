// The processors of this machine, as Linux tells them through files: cores, the hardware threads of
// each, kinds of cores, caches and who shares them, instruction sets. What no file says (speeds) is
// measured by drivers/cpu/core_speed.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"

namespace doorbell::os {

// A data or unified cache.
struct CpuCache {
  int level = 0;
  i64 bytes = 0;
  i64 line_bytes = 64;
  int cores = 1;  // that share it
  i64 bytes_of_core() const { return bytes / cores; }
};

// Cores that are alike.
struct CoreKind {
  i64 capacity = 0;  // relative speed: only to compare kinds; 0 if the machine has one kind
  int cores = 0;
  std::vector<CpuCache> caches;  // by level, L1 first
  // The bytes of a level that are one core's share, or `otherwise` where the system names none.
  i64 cache_bytes(int level, i64 otherwise) const;
};

struct LogicalCpu {
  int number = 0;
  int core = 0;    // the least number among the CPUs of the same core
  usize kind = 0;  // in CpuTopology::kinds
};

struct CpuTopology {
  std::string model;                  // "AMD EPYC 9B14"; of Arm, implementer and part
  std::vector<std::string> features;  // the kernel's words ("avx512_bf16", "asimddp"), sorted
  std::vector<LogicalCpu> cpus;       // online, by number
  std::vector<CoreKind> kinds;        // the fastest first

  bool has(std::string_view feature) const;
  int cores() const;
  // One CPU of each core, those of fast cores first, then the other hardware threads of the cores;
  // of these only those in `allowed`, unless it is empty.
  std::vector<int> placement(std::span<const int> allowed) const;
  // All `allowed` CPUs of each core that has any, in the same order of cores.
  std::vector<std::vector<int>> cpus_of_cores(std::span<const int> allowed) const;
  // How many cores there are among `allowed` CPUs; empty: all.
  int cores_of(std::span<const int> allowed) const;
};

// Reads /sys/devices/system/cpu and /proc/cpuinfo. What is missing there is left out; an error if
// not even the CPUs are listed, or a list is not one.
Result<CpuTopology> read_cpu_topology(Files& files);

// "0-3,8" as numbers.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

}  // namespace doorbell::os
