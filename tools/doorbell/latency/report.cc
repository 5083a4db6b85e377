// Text and JSON of a report.
#include "tools/doorbell/latency/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "hcq/software/launch_device.h"
#include "tools/measure/measure.h"
#include "tools/measure/table.h"

namespace doorbell::tools::latency {
namespace {

std::vector<std::string> notes_for(const core::Device& device) {
  std::vector<std::string> notes;
  if (!device.runs()) {
    notes.push_back(
        "nothing runs on this device: launches and replays are what the host does by itself, "
        "checks, keys, slots and positions on the timeline, and signals are raised by the "
        "submitter");
    return notes;
  }
  if (device.name().starts_with("CPU")) {
    notes.push_back(
        "a launch of a program runs the kernel before it returns, and a replay that is known to "
        "take less than 50 us runs on the thread that submits it: there, launch contains the "
        "kernels");
    notes.push_back(
        "the queue's thread takes over a submit; it spins some 20 us and then sleeps; "
        "its timestamps are reads of the host's clock");
  } else if (dynamic_cast<const hcq::LaunchDevice*>(&device) != nullptr) {
    notes.push_back(
        "this device's driver has no queues: one in software calls it, and a launch costs what the "
        "driver takes, and the vendor's runtime below it");
  }
  notes.push_back(
      "copies repeat on the same memory, small ones within caches; host memory is pageable");
  return notes;
}

std::vector<std::string> facts_of(const Report& report) {
  return {
      report.machine,
      fmt::format("device {}: {}, renderer {}", report.device, report.description, report.renderer),
      fmt::format("clock {}; reading it costs {}, once per sample, which is not taken off",
                  report.clock, time_text(report.clock_read_ns)),
      fmt::format("up to {} samples or {:g} s per figure; a sample is the mean of `calls` "
                  "calls in a row, so that it lasts {} or more",
                  report.sampling.runs, report.sampling.seconds,
                  time_text(report.sampling.shortest_ns))};
}

Cell words(std::string text) { return text; }

std::vector<Cell> row_of(const Series& one) {
  const Distribution& time = one.time;
  return {words(one.what),
          words(time_text(time.at(0.01))),
          words(time_text(time.median())),
          words(time_text(time.at(0.99))),
          one.nodes != 0 ? words(time_text(one.ns_per_node())) : Cell(std::string()),
          one.bytes != 0 ? words(figure(one.gigabytes_per_second())) : Cell(std::string()),
          static_cast<f64>(time.count()),
          static_cast<f64>(time.calls())};
}

// The missing figures, by reason.
void print_unavailable(const Report& report) {
  std::vector<std::string> reasons;
  for (const Series& one : report.series)
    if (!one.unavailable.empty() &&
        std::find(reasons.begin(), reasons.end(), one.unavailable) == reasons.end())
      reasons.push_back(one.unavailable);
  for (const std::string& reason : reasons) {
    fmt::print("\n{}:\n", reason);
    for (const Series& one : report.series)
      if (one.unavailable == reason) fmt::print("  {}\n", one.what);
  }
}

nlohmann::json json_of(const Series& one) {
  nlohmann::json json{{"id", one.id},
                      {"group", one.group},
                      {"what", one.what},
                      {"available", one.unavailable.empty()}};
  if (one.bytes != 0) json["bytes"] = one.bytes;
  if (one.nodes != 0) json["nodes"] = one.nodes;
  if (!one.unavailable.empty()) {
    json["reason"] = one.unavailable;
    return json;
  }
  const Distribution& time = one.time;
  nlohmann::json histogram = nlohmann::json::array();
  for (const Distribution::Bucket& bucket : time.histogram())
    histogram.push_back({{"from", bucket.from}, {"to", bucket.to}, {"count", bucket.count}});
  json.update({{"unit", "ns"},
               {"samples", time.count()},
               {"calls_per_sample", time.calls()},
               {"min", time.least()},
               {"p1", time.at(0.01)},
               {"median", time.median()},
               {"p99", time.at(0.99)},
               {"max", time.most()},
               {"mean", time.mean()},
               {"histogram", histogram}});
  if (one.nodes != 0) json["ns_per_node"] = one.ns_per_node();
  if (one.bytes != 0) json["gigabytes_per_second"] = one.gigabytes_per_second();
  return json;
}

}  // namespace

std::string unavailable_on(const core::Device& device, const std::string& why) {
  return fmt::format("not available on {}, because {}", device.name(), why);
}

Report describe(const core::Device& device, const Sampling& sampling) {
  Report report;
  report.machine = machine();
  report.device = device.name();
  report.description = device.description();
  report.renderer = device.spec().renderer;
  report.threads = device.threads();
  report.runs = device.runs();
  report.clock = "CLOCK_MONOTONIC";
  report.clock_read_ns = clock_read_ns();
  report.sampling = sampling;
  report.notes = notes_for(device);
  return report;
}

void print_text(const Report& report, bool has_histograms) {
  Table table;
  table.title = "Latency of " + report.device;
  table.facts = facts_of(report);
  table.columns = {"what", "p1", "median", "p99", "per kernel", "GB/s", "samples", "calls"};
  for (const Series& one : report.series)
    if (one.unavailable.empty()) table.rows.push_back(row_of(one));
  table.notes = report.notes;
  table.print();
  print_unavailable(report);
  if (!has_histograms) return;
  fmt::print(
      "\nHistograms: samples from p1 to p99 in ten steps of one ratio, and what lies\n"
      "outside; a bar is as long as the logarithm of its count.\n");
  for (const Series& one : report.series)
    if (one.unavailable.empty()) fmt::print("\n{}\n{}", one.what, histogram_text(one.time));
  std::fflush(stdout);
}

nlohmann::json to_json(const Report& report) {
  nlohmann::json series = nlohmann::json::array();
  for (const Series& one : report.series) series.push_back(json_of(one));
  return {{"benchmark", "latency"},
          {"machine", report.machine},
          {"device",
           {{"name", report.device},
            {"description", report.description},
            {"renderer", report.renderer},
            {"threads", report.threads},
            {"runs", report.runs}}},
          {"clock", {{"name", report.clock}, {"read_ns", report.clock_read_ns}}},
          {"runs", report.sampling.runs},
          {"seconds", report.sampling.seconds},
          {"notes", report.notes},
          {"series", series}};
}

}  // namespace doorbell::tools::latency
