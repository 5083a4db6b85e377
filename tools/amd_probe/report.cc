// Reports as lines for people, and as JSON.
#include "tools/amd_probe/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace doorbell::tools {
namespace {

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Ok: return "ok";
    case Verdict::Differs: return "differs";
    case Verdict::NotTried: return "cannot be tried";
  }
  return "?";
}

// The first line in which two traces differ.
std::string first_difference(const std::vector<std::string>& there,
                             const std::vector<std::string>& here) {
  const usize lines = std::max(there.size(), here.size());
  for (usize i = 0; i < lines; ++i) {
    const std::string none = "nothing";
    const std::string &one = i < there.size() ? there[i] : none,
                      &other = i < here.size() ? here[i] : none;
    if (one != other)
      return fmt::format("line {} of its trace: recorded {}, here {}", i + 1, one, other);
  }
  return {};
}

std::string text_of(std::string_view heading, std::string_view beginning) {
  return fmt::format("docs/hw/amd-facts.md, \"{}\": {}", heading, beginning);
}

// What a step went otherwise for: the fact that one of the runs names, or those that it tests.
std::string contradicted(const nlohmann::json& recorded, const StepReport& here) {
  if (here.outcome.difference)
    return "; this contradicts " + text_of(here.outcome.difference->fact);
  if (const auto fact = recorded.find("fact"); fact != recorded.end())
    return "; this contradicts " + text_of(fact->at("heading").get<std::string>(),
                                           fact->at("beginning").get<std::string>());
  std::string texts;
  for (const Fact fact : here.facts) texts += (texts.empty() ? "" : "; ") + text_of(fact);
  return texts.empty() ? "" : "; it tests " + texts;
}

}  // namespace

std::string text_of(Fact fact) {
  const FactPlace& place = place_of(fact);
  return text_of(place.heading, place.beginning);
}

std::string to_line(const StepReport& step) {
  const Outcome& outcome = step.outcome;
  const std::string start = fmt::format("{:<16} {:<15}  ", step.name, name_of(outcome.verdict));
  if (!outcome.difference) return start + outcome.text;
  const Difference& difference = *outcome.difference;
  return fmt::format("{}expected {}, seen {}; this contradicts {}", start, difference.expected,
                     difference.seen, text_of(difference.fact));
}

nlohmann::json to_json(std::span<const StepReport> steps) {
  nlohmann::json all = nlohmann::json::array();
  for (const StepReport& step : steps) {
    nlohmann::json one = {{"step", step.name}, {"verdict", name_of(step.outcome.verdict)}};
    if (!step.outcome.text.empty()) one["text"] = step.outcome.text;
    if (step.outcome.difference) {
      const Difference& difference = *step.outcome.difference;
      const FactPlace& place = place_of(difference.fact);
      one["expected"] = difference.expected;
      one["seen"] = difference.seen;
      one["fact"] = {{"heading", place.heading}, {"beginning", place.beginning}};
    }
    if (!step.trace.empty()) one["trace"] = step.trace;
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<std::string> compare(const nlohmann::json& recorded,
                                 std::span<const StepReport> steps) {
  std::vector<std::string> lines;
  const std::string left_out(name_of(Verdict::NotTried));
  for (const nlohmann::json& one : recorded) {
    const std::string name = one.at("step"), verdict = one.at("verdict");
    const auto step = std::ranges::find(steps, name, &StepReport::name);
    if (step == steps.end()) {
      lines.push_back(fmt::format("{}: recorded, but there is no such step here", name));
      continue;
    }
    const std::string_view here = name_of(step->outcome.verdict);
    if (verdict == left_out || here == left_out) continue;
    if (verdict != here) {
      lines.push_back(
          fmt::format("{}: recorded {}, here {}{}", name, verdict, here, contradicted(one, *step)));
      continue;
    }
    const auto trace = one.value("trace", std::vector<std::string>());
    if (const std::string difference = first_difference(trace, step->trace); !difference.empty())
      lines.push_back(fmt::format("{}: {}{}", name, difference, contradicted(one, *step)));
  }
  return lines;
}

bool all_as_expected(std::span<const StepReport> steps) {
  return std::ranges::none_of(
      steps, [](const StepReport& step) { return step.outcome.verdict == Verdict::Differs; });
}

}  // namespace doorbell::tools
