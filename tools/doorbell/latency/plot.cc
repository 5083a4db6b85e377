// Rows of a logarithmic axis: the histogram as shades, p1 to p99 as a line, the median as a dot.
#include "tools/doorbell/latency/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/measure/svg.h"
#include "tools/measure/table.h"

namespace doorbell::tools::latency {
namespace {

constexpr f64 kLabels = 300, kPlot = 620, kNumbers = 190, kMargin = 20;
constexpr f64 kTop = 118, kRow = 18, kGap = 12, kBottom = 62;
constexpr const char *kInk = "#222222", *kFaint = "#777777", *kGrid = "#d8d8d8";
// Colours by group, distinguishable for colour-blind readers too.
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#8a5bb5",
                                    "#b8860b", "#4a4a4a", "#56b4e9"};
static_assert(std::size(kColours) == std::size(kGroups));

const char* colour_of(const std::string& group) {
  for (usize i = 0; i < std::size(kGroups); ++i)
    if (group == kGroups[i].name) return kColours[i];
  return kInk;
}

// Whole decades around all samples.
struct Axis {
  int first = 1, last = 6;  // powers of ten, of nanoseconds

  explicit Axis(const Report& report) {
    f64 least = 1e18, most = 0;
    for (const Series& one : report.series) {
      if (one.time.empty()) continue;
      least = std::min(least, one.time.least());
      most = std::max(most, one.time.most());
    }
    if (most <= 0) return;
    first = static_cast<int>(std::floor(std::log10(std::max(least, 0.1))));
    last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(most))));
  }
  f64 x(f64 ns) const {
    const f64 place = (std::log10(std::max(ns, 1e-9)) - first) / (last - first);
    return kMargin + kLabels + kPlot * std::clamp(place, 0.0, 1.0);
  }
};

void draw_axis(Svg& svg, const Axis& axis, f64 top, f64 bottom) {
  for (int decade = axis.first; decade <= axis.last; ++decade) {
    const f64 ns = std::pow(10.0, decade), x = axis.x(ns);
    svg.line(x, top, x, bottom, kGrid);
    svg.line(x, bottom, x, bottom + 5, kInk);
    svg.text(x, bottom + 18, time_text(ns), Svg::Align::Middle, 11);
    if (decade == axis.last) break;
    for (int tenth = 2; tenth < 10; ++tenth)
      svg.line(axis.x(ns * tenth), bottom, axis.x(ns * tenth), bottom + 3, kFaint, 0.5);
  }
  svg.line(axis.x(std::pow(10.0, axis.first)), bottom, axis.x(std::pow(10.0, axis.last)), bottom,
           kInk);
  svg.text(kMargin + kLabels + kPlot / 2, bottom + 38, "time of one call, logarithmic",
           Svg::Align::Middle, 12);
}

void draw_legend(Svg& svg, f64 y) {
  f64 x = kMargin + kLabels;
  const auto words = [&](const char* text, f64 room) {
    svg.text(x, y + 4, text, Svg::Align::Begin, 11);
    x += room;
  };
  svg.dot(x + 5, y, 4, kInk);
  x += 16;
  words("median", 64);
  svg.line(x, y, x + 26, y, kInk, 2);
  x += 32;
  words("p1 to p99", 82);
  for (int shade = 1; shade <= 4; ++shade) {
    svg.box(x, y - 6, 10, 12, kInk, 0.1 + 0.1 * shade);
    x += 10;
  }
  x += 6;
  words("samples, darker is more (logarithmic), to the least and the most", 300);
}

void draw_numbers(Svg& svg, const Series& one, f64 y) {
  constexpr f64 kLeft = kMargin + kLabels + kPlot;
  const auto column = [&](f64 right, const std::string& words) {
    svg.text(kLeft + right, y, words, Svg::Align::End, 11);
  };
  column(70, time_text(one.time.median()));
  if (one.bytes != 0) column(kNumbers, figure(one.gigabytes_per_second()) + " GB/s");
  if (one.nodes != 0) column(kNumbers, time_text(one.ns_per_node()) + " each");
}

void draw_row(Svg& svg, const Axis& axis, const Series& one, f64 y) {
  svg.text(kMargin + kLabels - 10, y + 4, one.what, Svg::Align::End, 11,
           one.unavailable.empty() ? kInk : kFaint);
  if (!one.unavailable.empty()) {
    constexpr usize kMax = 110;  // characters that fit
    const std::string& why = one.unavailable;
    svg.text(kMargin + kLabels + 6, y + 4,
             why.size() > kMax ? why.substr(0, kMax - 3) + "..." : why, Svg::Align::Begin, 10,
             kFaint);
    return;
  }
  const char* colour = colour_of(one.group);
  usize most = 1;
  for (const Distribution::Bucket& bucket : one.time.histogram())
    most = std::max(most, bucket.count);
  for (const Distribution::Bucket& bucket : one.time.histogram()) {
    if (bucket.count == 0) continue;
    const f64 share =
        std::log1p(static_cast<f64>(bucket.count)) / std::log1p(static_cast<f64>(most));
    const f64 from = axis.x(bucket.from), width = std::max(1.0, axis.x(bucket.to) - from);
    svg.box(from, y - 6, width, 12, colour, 0.08 + 0.35 * share,
            fmt::format("{} to {}: {} samples", time_text(bucket.from), time_text(bucket.to),
                        bucket.count));
  }
  svg.line(axis.x(one.time.at(0.01)), y, axis.x(one.time.at(0.99)), y, colour, 2);
  svg.dot(axis.x(one.time.median()), y, 4, colour,
          fmt::format("{}: median {}, p1 {}, p99 {}", one.what, time_text(one.time.median()),
                      time_text(one.time.at(0.01)), time_text(one.time.at(0.99))));
  draw_numbers(svg, one, y + 4);
}

f64 height_of(const Report& report) {
  f64 height = kTop + kBottom;
  std::string group;
  for (const Series& one : report.series) {
    if (one.group != group) height += kRow + kGap;
    group = one.group;
    height += kRow;
  }
  return height;
}

}  // namespace

std::string plot(const Report& report) {
  const f64 width = kMargin + kLabels + kPlot + kNumbers + kMargin, height = height_of(report);
  const Axis axis(report);
  Svg svg(width, height, "Latency of " + report.device);
  svg.text(kMargin, 32, "Latency of " + report.device, Svg::Align::Begin, 20, kInk, true);
  svg.text(kMargin, 52,
           fmt::format("{}; clock {}, a read costs {}", report.machine, report.clock,
                       time_text(report.clock_read_ns)),
           Svg::Align::Begin, 12, kFaint);
  svg.text(
      kMargin, 69,
      fmt::format("device {}: {}, renderer {}", report.device, report.description, report.renderer),
      Svg::Align::Begin, 12, kFaint);
  draw_legend(svg, 94);
  svg.text(kMargin + kLabels + kPlot + 70, 98, "median", Svg::Align::End, 11, kFaint);
  svg.text(kMargin + kLabels + kPlot + kNumbers, 98, "rate", Svg::Align::End, 11, kFaint);
  draw_axis(svg, axis, kTop, height - kBottom);
  f64 y = kTop;
  std::string group;
  for (const Series& one : report.series) {
    if (one.group != group) {
      y += kGap;
      svg.text(kMargin, y + kRow - 4, one.group, Svg::Align::Begin, 12, colour_of(one.group), true);
      y += kRow;
    }
    group = one.group;
    draw_row(svg, axis, one, y + kRow / 2);
    y += kRow;
  }
  return svg.str();
}

}  // namespace doorbell::tools::latency
