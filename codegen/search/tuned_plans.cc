// Plans as lines of seven words, separated by tabs: the key, times in nanoseconds, the plan, names.
#include "codegen/search/tuned_plans.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>
#include <vector>

#include "base/util/format.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "codegen/compile/kernel_identity.h"

namespace doorbell::codegen {
namespace {

constexpr std::string_view kHeader = "doorbell plans 1";

std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

std::string_view text_of(const std::vector<u8>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string line_of(const TunedPlan& plan) {
  return fmt::format("{:.1f}\t{:.1f}\t{}\t{}\t{}", plan.ns, plan.heuristic_ns, print(plan.plan),
                     plan.kernel, plan.target);
}

std::vector<std::string_view> split(std::string_view text, char between) {
  std::vector<std::string_view> words;
  while (true) {
    const usize end = text.find(between);
    words.push_back(text.substr(0, end));
    if (end == text.npos) return words;
    text.remove_prefix(end + 1);
  }
}

template <class T>
bool parse_number(std::string_view word, T* value, auto... form) {
  const char* last = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), last, *value, form...);
  return error == std::errc() && at == last && !word.empty();
}

Result<TunedPlan> parse_words(std::span<const std::string_view> words) {
  TunedPlan plan;
  if (words.size() != 5 || !parse_number(words[0], &plan.ns) ||
      !parse_number(words[1], &plan.heuristic_ns))
    return fail(ErrorKind::Corrupt, "expected two times, a plan, a kernel and a target");
  TRY(plan.plan, parse_plan(words[2]));
  plan.kernel = words[3], plan.target = words[4];
  return plan;
}

Result<CacheKey> parse_key(std::string_view word) {
  CacheKey key{};
  if (word.size() == 32 && parse_number(word.substr(0, 16), &key.words[0], 16) &&
      parse_number(word.substr(16), &key.words[1], 16))
    return key;
  return fail(ErrorKind::Corrupt, "'{}' is no key of a plan", word);
}

}  // namespace

std::string tuning_target(const Backend& b) {
  std::string target = fmt::format("{}; {}; vectors of {} bytes, {} threads", b.renderer->name(),
                                   b.compiler != nullptr ? b.compiler->key() : "",
                                   b.caps.vector_bytes, b.caps.threads);
  std::ranges::replace_if(target, [](char c) { return c == '\t' || c == '\n' || c == '\0'; }, ' ');
  return target;
}

CacheKey tuning_key(const core::KernelAst& kernel, const Backend& backend) {
  return make_cache_key(tuning_target(backend) + '\0' + kernel_identity(kernel));
}

TunedPlans::TunedPlans(os::Files& files, std::string path)
    : files_(files),
      path_(std::move(path)),
      plans_(files, {.path = path_, .name = "plans", .what = "tuned plans"}),
      gains_(files, {.path = path_, .name = "gains", .what = "gains of plans"}) {}

bool TunedPlans::is_empty() {
  std::lock_guard lock(mutex_);
  return found_.empty() && !is_on_disk();
}

std::optional<TunedPlan> TunedPlans::find(const CacheKey& key) {
  std::lock_guard lock(mutex_);
  if (const auto found = found_.find(key); found != found_.end()) return found->second;
  if (!is_on_disk()) return std::nullopt;
  const std::vector<u8> bytes = plans_.find(key);
  if (bytes.empty()) return std::nullopt;
  Result<TunedPlan> plan = parse_words(split(text_of(bytes), '\t'));
  if (plan) return found_.emplace(key, std::move(*plan)).first->second;
  log().warn("tuned plans {}: a bad entry: {}", path_, plan.error().message);
  plans_.remove(key);
  return std::nullopt;
}

void TunedPlans::store(const CacheKey& key, const TunedPlan& plan) {
  std::lock_guard lock(mutex_);
  found_[key] = plan;
  if (path_.empty()) return;
  stores_ = true;
  plans_.store(key, bytes_of(line_of(plan)));
}

MoveGains TunedPlans::gains(const std::string& target) {
  std::lock_guard lock(mutex_);
  if (!is_on_disk()) return {};
  const std::vector<u8> bytes = gains_.find(make_cache_key(target));
  return MoveGains::parse(text_of(bytes)).value_or(MoveGains());
}

void TunedPlans::store_gains(const std::string& target, const MoveGains& gains) {
  std::lock_guard lock(mutex_);
  if (path_.empty()) return;
  stores_ = true;
  gains_.store(make_cache_key(target), bytes_of(gains.to_text()));
}

std::vector<TunedPlan> TunedPlans::all() {
  std::lock_guard lock(mutex_);
  std::vector<TunedPlan> plans;
  if (!is_on_disk()) return plans;
  for (const auto& [key, bytes] : plans_.all())
    if (Result<TunedPlan> plan = parse_words(split(text_of(bytes), '\t')))
      plans.push_back(std::move(*plan));
  return plans;
}

std::string TunedPlans::export_text() {
  std::lock_guard lock(mutex_);
  std::string text(kHeader);
  text += '\n';
  if (!is_on_disk()) return text;
  for (const auto& [key, bytes] : plans_.all())
    text += fmt::format("{:016x}{:016x}\t{}\n", key.words[0], key.words[1], text_of(bytes));
  return text;
}

Result<i64> TunedPlans::import_text(std::string_view text) {
  const std::vector<std::string_view> lines = split(text, '\n');
  if (lines[0] != kHeader)
    return fail(ErrorKind::Corrupt, "the first line is '{}', expected '{}'", lines[0], kHeader);
  std::vector<std::pair<CacheKey, TunedPlan>> plans;
  for (usize i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> words = split(lines[i], '\t');
    const Result<CacheKey> key = parse_key(words[0]);
    if (!key) return fail(ErrorKind::Corrupt, "line {}: {}", i + 1, key.error().message);
    Result<TunedPlan> plan = parse_words(std::span(words).subspan(1));
    if (!plan) return fail(ErrorKind::Corrupt, "line {}: {}", i + 1, plan.error().message);
    plans.emplace_back(*key, std::move(*plan));
  }
  for (const auto& [key, plan] : plans) store(key, plan);
  return static_cast<i64>(plans.size());
}

}  // namespace doorbell::codegen
