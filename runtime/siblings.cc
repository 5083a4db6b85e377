// A process's variables and state are files of /proc.
#include "runtime/siblings.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string_view>

namespace doorbell::runtime {
namespace {

int number_of(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The value of a variable among those of a process, which zeros end.
std::string_view value_of(std::string_view variables, std::string_view name) {
  while (!variables.empty()) {
    const usize end = variables.find('\0');
    const std::string_view one = variables.substr(0, end);
    if (one.starts_with(name) && one.substr(name.size()).starts_with('='))
      return one.substr(name.size() + 1);
    if (end == std::string_view::npos) break;
    variables.remove_prefix(end + 1);
  }
  return {};
}

// 'T' is stopped, 'Z' dead. [proc(5), "State"]
char state_of(std::string_view status) {
  constexpr std::string_view kName = "\nState:\t";
  const usize at = status.find(kName);
  return at == std::string_view::npos || at + kName.size() >= status.size()
             ? 'Z'
             : status[at + kName.size()];
}

// Of each rank found, whether it is stopped.
std::map<int, bool> ranks_of(os::Files& files, std::string_view job) {
  std::map<int, bool> stopped;
  for (const std::string& process : files.list("/proc").value_or(std::vector<std::string>())) {
    if (number_of(process) < 0) continue;
    const Result<std::string> variables = read_text(files, "/proc/" + process + "/environ");
    if (!variables || value_of(*variables, "PMIX_NAMESPACE") != job) continue;
    const int rank = number_of(value_of(*variables, "PMIX_RANK"));
    const Result<std::string> status = read_text(files, "/proc/" + process + "/status");
    const char state = status ? state_of(*status) : 'Z';
    if (rank >= 0 && state != 'Z') stopped[rank] |= state == 'T';
  }
  return stopped;
}

}  // namespace

std::string missing_siblings(os::Files& files, const os::Environment& own) {
  const std::string_view job = own.get("PMIX_NAMESPACE");
  if (job.empty()) return {};
  const std::map<int, bool> stopped = ranks_of(files, job);
  const int size = number_of(own.get("OMPI_COMM_WORLD_SIZE"));
  const bool all_are_here = size == number_of(own.get("OMPI_COMM_WORLD_LOCAL_SIZE"));
  std::string text;
  const auto add = [&](int rank, const char* what) {
    text += fmt::format("{}rank {}, which is {}", text.empty() ? "" : ", and ", rank, what);
  };
  for (const auto& [rank, is_stopped] : stopped)
    if (is_stopped) add(rank, "stopped");
  for (int rank = 0; all_are_here && rank < size; ++rank)
    if (!stopped.contains(rank)) add(rank, "dead");
  return text;
}

}  // namespace doorbell::runtime
