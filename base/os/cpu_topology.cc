// Reading sysfs and /proc/cpuinfo. [Linux Documentation/ABI/stable/sysfs-devices-system-cpu,
// Documentation/ABI/testing/sysfs-devices-system-cpu, Documentation/admin-guide/cputopology.rst]
#include "base/os/cpu_topology.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/util/format.h"
#include "base/util/try.h"

namespace doorbell::os {
namespace {

constexpr const char* kFolder = "/sys/devices/system/cpu";
constexpr int kMaxCpus = 1 << 16;

std::string_view trimmed(std::string_view text) {
  const usize first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// Empty if there is no such file.
std::string text_of(Files& files, const std::string& path) {
  if (!files.exists(path)) return {};
  Result<std::string> text = read_text(files, path);
  return text ? std::string(trimmed(*text)) : std::string();
}

bool parse_prefix(std::string_view& text, i64* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc() || *value < 0) return false;
  text.remove_prefix(static_cast<usize>(end - text.data()));
  return true;
}

i64 number_of(Files& files, const std::string& path, i64 otherwise) {
  const std::string text = text_of(files, path);
  std::string_view left = text;
  i64 value = 0;
  return parse_prefix(left, &value) && left.empty() ? value : otherwise;
}

// "32K", "1024K", "36M"; 0 if it is none.
i64 parse_size(std::string_view text) {
  i64 value = 0;
  if (!parse_prefix(text, &value)) return 0;
  if (text == "K") return value << 10;
  if (text == "M") return value << 20;
  return text.empty() ? value : 0;
}

std::string cpu_path(int cpu, std::string_view rest) {
  return fmt::format("{}/cpu{}/{}", kFolder, cpu, rest);
}

// The numbers of CPUs in a file; none if there is no such file.
Result<std::vector<int>> list_of(Files& files, const std::string& path) {
  const std::string text = text_of(files, path);
  Result<std::vector<int>> list = parse_cpu_list(text);
  if (!list) return fail(ErrorKind::Corrupt, "{}: {}", path, list.error().message);
  return list;
}

// The file of relative speeds, of those that a kernel may have; null: none. cpu_capacity
// on Arm and recent hybrid x86, the clock's limit elsewhere.
const char* capacity_file(Files& files, int cpu) {
  for (const char* name : {"cpu_capacity", "cpufreq/cpuinfo_max_freq"})
    if (files.exists(cpu_path(cpu, name))) return name;
  return nullptr;
}

Result<std::vector<CpuCache>> caches_of(Files& files, int cpu, const std::map<int, int>& core_of) {
  std::vector<CpuCache> caches;
  for (int index = 0; files.exists(cpu_path(cpu, fmt::format("cache/index{}/level", index)));
       ++index) {
    const std::string folder = cpu_path(cpu, fmt::format("cache/index{}/", index));
    if (text_of(files, folder + "type") == "Instruction") continue;
    CpuCache cache;
    cache.level = static_cast<int>(number_of(files, folder + "level", 0));
    cache.bytes = parse_size(text_of(files, folder + "size"));
    cache.line_bytes = number_of(files, folder + "coherency_line_size", 64);
    TRY(const std::vector<int> sharing, list_of(files, folder + "shared_cpu_list"));
    std::set<int> cores;
    for (int other : sharing)
      if (const auto found = core_of.find(other); found != core_of.end())
        cores.insert(found->second);
    cache.cores = std::max(1, static_cast<int>(cores.size()));
    if (cache.level > 0 && cache.bytes > 0) caches.push_back(cache);
  }
  std::ranges::stable_sort(caches, {}, &CpuCache::level);
  return caches;
}

// Names and features of the first processor.
void read_cpuinfo(Files& files, CpuTopology* topology) {
  const std::string text = text_of(files, "/proc/cpuinfo");
  std::string implementer, part;
  for (usize at = 0; at < text.size();) {
    const usize end = std::min(text.find('\n', at), text.size());
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (trimmed(line).empty() && !topology->features.empty()) break;
    const usize colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "model name") topology->model = value;
    if (name == "CPU implementer") implementer = value;
    if (name == "CPU part") part = value;
    if (name != "flags" && name != "Features") continue;
    while (!value.empty()) {
      const usize word = std::min(value.find(' '), value.size());
      topology->features.emplace_back(value.substr(0, word));
      value = trimmed(value.substr(word));
    }
  }
  if (topology->model.empty() && !implementer.empty())
    topology->model = fmt::format("implementer {}, part {}", implementer, part);
  std::ranges::sort(topology->features);
}

// Hybrid machines of Intel without capacities list their efficient cores here.
Result<std::set<int>> efficient_cpus(Files& files) {
  TRY(const std::vector<int> atoms, list_of(files, "/sys/devices/cpu_atom/cpus"));
  return std::set<int>(atoms.begin(), atoms.end());
}

Result<void> find_kinds(Files& files, CpuTopology* topology) {
  TRY(const std::set<int> efficient, efficient_cpus(files));
  std::map<int, int> core_of;
  for (const LogicalCpu& cpu : topology->cpus) core_of[cpu.number] = cpu.core;
  std::map<int, i64> capacity;  // by core
  i64 fastest = 0;
  const char* file = capacity_file(files, topology->cpus[0].number);
  for (const auto& [cpu, core] : core_of) {
    if (cpu != core) continue;
    const i64 found = file != nullptr ? number_of(files, cpu_path(core, file), 0) : 0;
    capacity[core] = efficient.contains(core) && found == 0 ? 1 : found;
    fastest = std::max(fastest, capacity[core]);
  }
  // The clocks of cores of one kind differ by a few per cent: the best may run faster.
  const auto is_slow = [&](int core) {
    return efficient.contains(core) || 10 * capacity[core] < 8 * fastest;
  };
  for (const bool slow : {false, true}) {
    const auto first = std::ranges::find_if(
        capacity, [&](const auto& entry) { return is_slow(entry.first) == slow; });
    if (first == capacity.end()) continue;
    CoreKind kind{.capacity = first->second};
    TRY(kind.caches, caches_of(files, first->first, core_of));
    for (const auto& [core, value] : capacity) kind.cores += is_slow(core) == slow;
    topology->kinds.push_back(std::move(kind));
  }
  for (LogicalCpu& cpu : topology->cpus)
    cpu.kind = is_slow(cpu.core) ? topology->kinds.size() - 1 : 0;
  if (topology->kinds.size() == 1) topology->kinds[0].capacity = 0;
  return {};
}

// The least number among the CPU's siblings that are online.
Result<int> core_of(Files& files, int cpu, const std::vector<int>& online) {
  TRY(const std::vector<int> siblings,
      list_of(files, cpu_path(cpu, "topology/thread_siblings_list")));
  int core = cpu;
  for (int sibling : siblings)
    if (std::ranges::binary_search(online, sibling)) core = std::min(core, sibling);
  return core;
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  const std::string_view whole = trimmed(text);
  std::vector<int> list;
  for (std::string_view left = whole; !left.empty();) {
    i64 first = 0, last = 0;
    bool sound = parse_prefix(left, &first);
    last = first;
    if (sound && left.starts_with('-')) {
      left.remove_prefix(1);
      sound = parse_prefix(left, &last);
    }
    if (!sound || last < first || last >= kMaxCpus || (!left.empty() && left[0] != ','))
      return fail(ErrorKind::Corrupt, "'{}' is no list of CPUs", whole);
    if (!left.empty()) left.remove_prefix(1);
    for (i64 cpu = first; cpu <= last; ++cpu) list.push_back(static_cast<int>(cpu));
  }
  return list;
}

Result<CpuTopology> read_cpu_topology(Files& files) {
  CpuTopology topology;
  TRY(const std::vector<int> online, list_of(files, fmt::format("{}/online", kFolder)));
  if (online.empty()) return fail(ErrorKind::Unsupported, "{}/online names no CPU", kFolder);
  const bool single = text_of(files, fmt::format("{}/smt/active", kFolder)) == "0";
  for (int cpu : online) {
    LogicalCpu entry{.number = cpu, .core = cpu};
    if (!single) {
      TRY(entry.core, core_of(files, cpu, online));
    }
    topology.cpus.push_back(entry);
  }
  TRY(find_kinds(files, &topology));
  read_cpuinfo(files, &topology);
  return topology;
}

i64 CoreKind::cache_bytes(int level, i64 otherwise) const {
  for (const CpuCache& cache : caches)
    if (cache.level == level) return cache.bytes_of_core();
  return otherwise;
}

bool CpuTopology::has(std::string_view feature) const {
  return std::ranges::binary_search(features, feature);
}

int CpuTopology::cores() const {
  int count = 0;
  for (const CoreKind& kind : kinds) count += kind.cores;
  return count;
}

std::vector<int> CpuTopology::placement(std::span<const int> allowed) const {
  struct Place {
    int sibling;  // 0 for the first CPU of its core
    usize kind;
    int cpu;
    auto operator<=>(const Place&) const = default;
  };
  std::map<int, int> taken;  // by core
  std::vector<Place> places;
  for (const LogicalCpu& cpu : cpus) {
    if (!allowed.empty() && !std::ranges::count(allowed, cpu.number)) continue;
    places.push_back({taken[cpu.core]++, cpu.kind, cpu.number});
  }
  std::ranges::sort(places);
  std::vector<int> order;
  for (const Place& place : places) order.push_back(place.cpu);
  return order;
}

std::vector<std::vector<int>> CpuTopology::cpus_of_cores(std::span<const int> allowed) const {
  std::map<int, int> core_of;  // by CPU
  for (const LogicalCpu& cpu : cpus) core_of[cpu.number] = cpu.core;
  std::map<int, usize> found;  // by core: where it is in the answer
  std::vector<std::vector<int>> cores;
  for (int cpu : placement(allowed)) {
    const auto [at, is_new] = found.try_emplace(core_of[cpu], cores.size());
    if (is_new) cores.emplace_back();
    cores[at->second].push_back(cpu);
  }
  return cores;
}

int CpuTopology::cores_of(std::span<const int> allowed) const {
  std::set<int> found;
  for (const LogicalCpu& cpu : cpus)
    if (allowed.empty() || std::ranges::count(allowed, cpu.number)) found.insert(cpu.core);
  return static_cast<int>(found.size());
}

}  // namespace doorbell::os
