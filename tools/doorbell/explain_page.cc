// Figures, the loop nest out of the linear program, and the drawing: a roofline with the kernel.
#include "tools/doorbell/explain_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/device/registry.h"
#include "runtime/machine.h"
#include "tools/measure/svg.h"

namespace doorbell::tools {
namespace {

struct Row {
  std::string name, value;
};

std::vector<Row> rows_of(const ExplainedKernel& kernel, const Ceiling& ceiling) {
  std::vector<Row> rows{{"kernel", kernel.name},
                        {"device", kernel.device},
                        {"plan", kernel.plan.empty() ? "loops as they come" : kernel.plan},
                        {"arithmetic", fmt::format("{:.4g} operations", kernel.flops)},
                        {"memory", fmt::format("{:.4g} bytes, at least once", kernel.bytes)}};
  if (kernel.ns <= 0) return rows;
  rows.push_back({"time", fmt::format("{:.1f} us, {} runs", kernel.ns / 1e3, kernel.count)});
  rows.push_back({"speed", fmt::format("{:.1f} GFLOPS, {:.1f} GB/s", kernel.flops / kernel.ns,
                                       kernel.bytes / kernel.ns)});
  if (ceiling.gflops > 0)
    rows.push_back({"machine", fmt::format("{:.0f} GFLOPS, {:.0f} GB/s from {}", ceiling.gflops,
                                           ceiling.gbps, ceiling.level)});
  return rows;
}

std::string escaped(const std::string& text) {
  std::string made;
  for (char c : text) {
    if (c == '<')
      made += "&lt;";
    else if (c == '&')
      made += "&amp;";
    else
      made += c;
  }
  return made;
}

// Operations by GFLOPS and by operations a byte, both logarithmic.
std::string draw_roofline(const ExplainedKernel& kernel, const Ceiling& ceiling) {
  if (ceiling.gflops <= 0 || ceiling.gbps <= 0 || kernel.ns <= 0 || kernel.flops <= 0) return {};
  constexpr f64 kWidth = 640, kHeight = 320, kLeft = 60, kRight = 20, kTop = 30, kBottom = 40;
  const f64 intensity = kernel.flops / std::max(kernel.bytes, 1.0);
  const f64 ridge = ceiling.gflops / ceiling.gbps, speed = kernel.flops / kernel.ns;
  const f64 low_x = std::min(intensity, ridge) / 16, high_x = std::max(intensity, ridge) * 16;
  const f64 high_y = ceiling.gflops * 2, low_y = std::min(speed, low_x * ceiling.gbps) / 2;
  const auto x = [&](f64 value) {
    return kLeft + (kWidth - kLeft - kRight) * std::log(value / low_x) / std::log(high_x / low_x);
  };
  const auto y = [&](f64 value) {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * std::log(value / low_y) / std::log(high_y / low_y);
  };
  Svg svg(kWidth, kHeight, "roofline of " + kernel.name);
  svg.line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "#888888");
  svg.line(kLeft, kTop, kLeft, kHeight - kBottom, "#888888");
  svg.line(x(low_x), y(low_x * ceiling.gbps), x(ridge), y(ceiling.gflops), "#2a6fb0", 2);
  svg.line(x(ridge), y(ceiling.gflops), x(high_x), y(ceiling.gflops), "#2a6fb0", 2);
  const f64 roof = std::min(ceiling.gflops, intensity * ceiling.gbps);
  svg.line(x(intensity), y(roof), x(intensity), y(speed), "#c04040");
  svg.dot(x(intensity), y(speed), 5, "#c04040", kernel.name);
  svg.text(x(intensity) + 9, y(speed) + 4, fmt::format("{:.0f} GFLOPS", speed));
  svg.text(kLeft + 6, kTop - 8, fmt::format("GFLOPS; at best {:.0f}", ceiling.gflops));
  svg.text(
      kWidth - kRight, kHeight - 12,
      fmt::format("operations a byte; here {:.2g}, both limits meet at {:.2g}", intensity, ridge),
      Svg::Align::End);
  return svg.str();
}

// ---- the loop nest ------------------------------------------------------------------------------

// A line of a linear program: "%19 = Range:i64(%1) {0, loop}".
struct Line {
  std::string id, op, dtype, rest;
};

bool parse_line(std::string_view text, Line* line) {
  const usize equals = text.find(" = "), colon = text.find(':');
  if (!text.starts_with('%') || equals == text.npos || colon == text.npos) return false;
  const usize end = std::min(text.find_first_of("( ", colon), text.size());
  line->id = text.substr(0, equals);
  line->op = text.substr(equals + 3, colon - equals - 3);
  line->dtype = text.substr(colon + 1, end - colon - 1);
  line->rest = text.substr(end);
  return true;
}

class NestPrinter {
 public:
  void add(const Line& line) {
    if (line.op == "Const")
      constants_[line.id] = line.rest.substr(std::min<usize>(1, line.rest.size()));
    if (line.op == "Range") {
      flush();
      const usize open = line.rest.find('('), close = line.rest.find(')');
      const std::string size = line.rest.substr(open + 1, close - open - 1);
      const bool reduces = line.rest.find("reduce") != std::string::npos;
      text_ += fmt::format("{:{}}for {} in {}{}\n", "", 2 * depth_, line.id,
                           constants_.contains(size) ? constants_[size] : size,
                           reduces ? "  (a sum)" : "");
      ++depth_;
    } else if (line.op == "End") {
      flush();
      depth_ = std::max(0, depth_ - 1);
    } else if (line.op == "Load" || line.op == "Store" || line.dtype.starts_with('f')) {
      if (line.op == "Param" || line.op == "Index" || line.op == "After" || line.op == "Const" ||
          line.op.starts_with("Define"))
        return;
      ++counts_[line.op == "Store" ? "Store" : line.op + " " + line.dtype];
    }
  }
  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
  void flush() {
    std::string words;
    for (const auto& [name, count] : counts_)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name);
    if (!words.empty()) text_ += fmt::format("{:{}}{}\n", "", 2 * depth_, words);
    counts_.clear();
  }

  int depth_ = 0;
  std::map<std::string, std::string> constants_;
  std::map<std::string, int> counts_;
  std::string text_;
};

}  // namespace

std::string loop_nest(const std::string& linear) {
  NestPrinter printer;
  for (usize at = 0; at < linear.size();) {
    const usize end = std::min(linear.find('\n', at), linear.size());
    Line line;
    if (parse_line(std::string_view(linear).substr(at, end - at), &line)) printer.add(line);
    at = end + 1;
  }
  return printer.take();
}

Ceiling ceiling_of(const ExplainedKernel& kernel) {
  const runtime::Machine& machine = runtime::this_machine();
  if (!kernel.device.starts_with("CPU") || !machine.speed) return {};
  const cpu::CoreSpeed& speed = *machine.speed;
  Result<core::Device*> device = core::Registry::instance().open("CPU");
  const f64 threads = device ? (*device)->threads() : 1;
  Ceiling ceiling;
  const auto flops_per_ns = [](const cpu::CoreSpeed::Fma& fma, f64 lanes) {
    return fma.each_ns > 0 ? 2 * lanes / fma.each_ns : 0;
  };
#if defined(__aarch64__)
  ceiling.gflops = threads * flops_per_ns(speed.narrow, 4);
#else
  ceiling.gflops = threads * std::max(flops_per_ns(speed.narrow, 8), flops_per_ns(speed.wide, 16));
#endif
  const os::CoreKind& core = machine.fastest();
  const std::pair<const char*, f64> levels[] = {
      {"L1", speed.l1}, {"L2", speed.l2}, {"L3", speed.l3}};
  ceiling.level = "memory", ceiling.gbps = threads * speed.memory;
  for (int level = 3; level >= 1; --level) {
    const auto& [name, rate] = levels[level - 1];
    const f64 held = static_cast<f64>(core.cache_bytes(level, 0)) * threads;
    if (rate > 0 && kernel.bytes <= held) ceiling.level = name, ceiling.gbps = threads * rate;
  }
  return ceiling;
}

std::string verdict(const ExplainedKernel& kernel, const Ceiling& ceiling) {
  if (kernel.ns <= 0) return "It did not run.";
  const f64 compute = ceiling.compute_ns(kernel), memory = ceiling.memory_ns(kernel);
  const f64 bound = std::max(compute, memory);
  if (bound <= 0) return "What this device can do at best is not known.";
  constexpr f64 kLaunch_ns = 3000, kPoor = 0.35;
  const std::string what =
      compute >= memory ? "multiply-adds" : fmt::format("loads and stores, {}", ceiling.level);
  const std::string share = fmt::format("{:.0f} % of the machine's peak", 100 * bound / kernel.ns);
  if (kernel.ns < kLaunch_ns)
    return fmt::format("Launching it bounds it: it takes {:.1f} us; {}.", kernel.ns / 1e3, share);
  if (bound < kPoor * kernel.ns)
    return fmt::format(
        "Neither multiply-adds nor memory bounds it: {}, by {}. Look for scalar code, "
        "divisions and functions, gathers, or few threads.",
        share, what);
  return fmt::format("Bounded by {}: {}.", what, share);
}

std::string explain_text(const ExplainedKernel& kernel, const Ceiling& ceiling) {
  std::string text;
  for (const Row& row : rows_of(kernel, ceiling))
    text += fmt::format("{:<11} {}\n", row.name, row.value);
  text += "\n" + verdict(kernel, ceiling) + "\n";
  return text + "\n" + loop_nest(kernel.linear);
}

std::string explain_page(const ExplainedKernel& kernel, const Ceiling& ceiling) {
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body {{ font: 15px sans-serif; margin: 2em auto; max-width: 60em; }}\n"
      "th {{ text-align: left; padding-right: 1.5em; vertical-align: top; }}\n"
      "pre {{ background: #f6f6f4; padding: 1em; overflow: auto; max-height: 40em; }}\n"
      "</style></head><body><h1>{0}</h1>\n<p>{1}</p>\n<table>\n",
      escaped(kernel.name), escaped(verdict(kernel, ceiling)));
  for (const Row& row : rows_of(kernel, ceiling))
    page += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", row.name, escaped(row.value));
  page += "</table>\n" + draw_roofline(kernel, ceiling);
  const Row parts[] = {{"Loop nest", loop_nest(kernel.linear)},
                       {"Source", kernel.source},
                       {"Machine code", kernel.code}};
  for (const Row& part : parts)
    if (!part.value.empty())
      page += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", part.name, escaped(part.value));
  return page + "</body></html>\n";
}

}  // namespace doorbell::tools
