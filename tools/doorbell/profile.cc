// `doorbell profile -- COMMAND`: runs a program with PROFILE=1 and shows where its time went, by
// device and kernel. The trace itself is written by the program's runtime (runtime/profile.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/os/host.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"
#include "tools/doorbell/run_for_file.h"

namespace doorbell::tools {
namespace {

using nlohmann::json;

struct Options {
  std::string output = "doorbell.trace.json";
  usize rows = 20;
  std::vector<std::string> command;
};

// All spans of one name on one device.
struct Line {
  std::string device, name;
  i64 count = 0;
  f64 total_us = 0;
};

// By total time, the largest first.
std::vector<Line> lines_of(const json& trace) {
  std::map<i64, std::string> devices;
  std::map<std::pair<std::string, std::string>, Line> lines;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("name") == "process_name")
      devices[event.at("pid").get<i64>()] = event.at("args").at("name").get<std::string>();
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    const std::string& device = devices.at(event.at("pid").get<i64>());
    // Work of the host is summed by kind, because a kernel compiles only once.
    const auto name = event.at(device == "host" ? "cat" : "name").get<std::string>();
    Line& line = lines[{device, name}];
    line.device = device;
    line.name = name;
    line.count += 1;
    line.total_us += event.at("dur").get<f64>();
  }
  std::vector<Line> sorted;
  for (auto& [key, line] : lines) sorted.push_back(std::move(line));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Line& a, const Line& b) { return a.total_us > b.total_us; });
  return sorted;
}

void print_row(const Line& line) {
  fmt::print("{:<8} {:<60} {:>8} {:>12.3f} {:>12.3f}\n", line.device, line.name, line.count,
             line.total_us / 1e3, line.total_us / static_cast<f64>(line.count));
}

void print_summary(const json& trace, usize rows) {
  const std::vector<Line> lines = lines_of(trace);
  fmt::print("{:<8} {:<60} {:>8} {:>12} {:>12}\n", "device", "what", "count", "total ms",
             "mean us");
  for (usize i = 0; i < std::min(rows, lines.size()); ++i) print_row(lines[i]);
  Line rest{"", fmt::format("{} more", lines.size() - std::min(rows, lines.size()))};
  for (usize i = rows; i < lines.size(); ++i) {
    rest.count += lines[i].count;
    rest.total_us += lines[i].total_us;
  }
  if (rest.count > 0) print_row(rest);
}

int run(const Options& options) {
  const std::string path = std::filesystem::absolute(options.output).string();
  setenv("PROFILE", "1", 1);
  setenv("PROFILE_FILE", path.c_str(), 1);
  const FileRun done = run_for_file(options.command, path, "trace");
  if (!done.written) return done.status;
  const std::string text = or_throw(os::read_text(os::host_files(), path));
  fmt::print("\ntrace: {} (https://ui.perfetto.dev opens it)\n\n", path);
  print_summary(json::parse(text), options.rows);
  return done.status;
}

}  // namespace

void add_profile(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("profile", "Run a program; show and trace where its time goes");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--output", options->output, "The trace, for Perfetto")
      ->capture_default_str();
  command->add_option("--rows", options->rows, "Lines of the summary")->capture_default_str();
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
