// Levels by prefix, counts and reports.
#include "emulator/core/checks.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/util/try.h"

namespace doorbell::emu {
namespace {

constexpr usize kKept = 1000;
constexpr u64 kToldWarnings = 100;  // of a rule
constexpr std::array<std::string_view, 3> kNames = {"off", "warn", "error"};

Result<Level> parse_level(std::string_view text) {
  for (usize i = 0; i < kNames.size(); ++i)
    if (text == kNames[i]) return static_cast<Level>(i);
  return fail(ErrorKind::Invalid, "level {:?} of checks is none of off, warn, error",
              std::string(text));
}

bool starts(const Check& check, std::string_view prefix) {
  return std::string_view(check.id).starts_with(prefix);
}

// "AMD-VM, AMD-QUE": the prefixes of the names.
std::string families(std::span<const Check* const> all) {
  std::set<std::string_view> found;
  for (const Check* check : all) {
    const std::string_view id = check->id;
    found.insert(id.substr(0, id.rfind('-')));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

}  // namespace

std::string_view name(Level level) { return kNames.at(static_cast<usize>(level)); }

std::string to_string(const Report& report) {
  return fmt::format("{} {}: {}", name(report.level), report.check->id, report.message);
}

Result<void> Checks::configure(std::string_view text, std::span<const Check* const> all) {
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    usize equals = part.find('=');
    if (equals == part.npos) {
      TRY(Level all, parse_level(part));
      rules_.push_back({"", all});
      continue;
    }
    if (equals == 0) return fail(ErrorKind::Invalid, "{:?} names no check", std::string(part));
    TRY(Level level, parse_level(part.substr(equals + 1)));
    const std::string_view prefix = part.substr(0, equals);
    if (std::ranges::none_of(all, [&](const Check* check) { return starts(*check, prefix); }))
      return fail(ErrorKind::Invalid, "no rule's name starts with {:?}; there are {}",
                  std::string(prefix), families(all));
    rules_.push_back({std::string(part.substr(0, equals)), level});
  }
  return {};
}

Level Checks::level(const Check& check) const {
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    if ((check.slow || check.always) && rule->prefix.empty()) continue;
    if (starts(check, rule->prefix)) return rule->level;
  }
  if (check.always) return Level::Error;
  return check.slow ? Level::Off : standard_;
}

Level Checks::report(const Check& check, std::string message, Level at_most) {
  Level found = std::min(level(check), at_most);
  if (found == Level::Off) return found;
  Report report{&check, found, std::move(message)};
  bool is_told = true;
  {
    std::lock_guard lock(mutex_);
    const u64 count = ++counts_[check.id];
    if (found == Level::Warn) is_told = count <= kToldWarnings;
    if (found == Level::Warn && count == kToldWarnings)
      report.message += " (further warnings of this rule are counted, and not told)";
    if (found == Level::Error) ++errors_;
    if (reports_.size() < kKept) reports_.push_back(report);
  }
  if (listener_ && is_told) listener_(report);
  return found;
}

u64 Checks::count(const Check& check) const {
  std::lock_guard lock(mutex_);
  auto found = counts_.find(std::string_view(check.id));
  return found == counts_.end() ? 0 : found->second;
}

u64 Checks::errors() const {
  std::lock_guard lock(mutex_);
  return errors_;
}

std::vector<Report> Checks::reports() const {
  std::lock_guard lock(mutex_);
  return reports_;
}

void Checks::clear() {
  std::lock_guard lock(mutex_);
  counts_.clear();
  reports_.clear();
  errors_ = 0;
}

}  // namespace doorbell::emu
