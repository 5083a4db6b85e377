// Percentiles by nearest rank: each is one of the samples.
#include "tools/measure/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/os/host.h"
#include "tools/measure/table.h"

namespace doorbell::tools {
namespace {

constexpr usize kFewest = 5;  // samples, however long they take
constexpr usize kBarWidth = 40;

f64 time_calls(const std::function<void()>& body, usize calls) {
  os::Clock& clock = os::host_clock();
  const u64 start = clock.now_ns();
  for (usize i = 0; i < calls; ++i) body();
  return static_cast<f64>(clock.now_ns() - start);
}

// Doubled until a sample is long compared with reading the clock. The shortest of three counts,
// because the first calls run with cold caches.
usize calls_for(const std::function<void()>& body, const Sampling& sampling,
                const std::function<void()>& between) {
  usize calls = 1;
  while (calls * 2 <= sampling.max_calls) {
    f64 shortest = sampling.shortest_ns;
    for (int turn = 0; turn < 3; ++turn) {
      shortest = std::min(shortest, time_calls(body, calls));
      if (between) between();
    }
    if (shortest >= sampling.shortest_ns) break;
    calls *= 2;
  }
  return calls;
}

struct Unit {
  f64 ns;
  const char* name;
};

Unit unit_of(f64 ns) {
  if (ns < 1e3) return {1, "ns"};
  if (ns < 1e6) return {1e3, "us"};
  if (ns < 1e9) return {1e6, "ms"};
  return {1e9, "s"};
}

}  // namespace

Distribution::Distribution(std::vector<f64> samples, usize calls)
    : samples_(std::move(samples)), calls_(calls) {
  std::sort(samples_.begin(), samples_.end());
}

f64 Distribution::at(f64 share) const {
  const f64 rank = std::ceil(share * static_cast<f64>(samples_.size()));
  const usize index = rank < 1 ? 0 : static_cast<usize>(rank) - 1;
  return samples_[std::min(index, samples_.size() - 1)];
}

f64 Distribution::mean() const {
  return std::accumulate(samples_.begin(), samples_.end(), 0.0) / static_cast<f64>(samples_.size());
}

std::vector<Distribution::Bucket> Distribution::histogram(usize inner) const {
  if (samples_.empty()) return {};
  std::vector<f64> edges{least()};
  // The shortest time drawn: zero has no logarithm, and no measurement is shorter than this.
  const f64 low = std::max(at(0.01), 1e-3), high = std::max(at(0.99), low);
  if (high > low)
    for (usize i = 0; i <= inner; ++i)
      edges.push_back(low * std::pow(high / low, static_cast<f64>(i) / static_cast<f64>(inner)));
  edges.push_back(most());
  std::vector<Bucket> buckets;
  usize next = 0;
  for (usize i = 0; i + 1 < edges.size(); ++i) {
    const bool is_last = i + 2 == edges.size();
    const usize first = next;
    while (next < samples_.size() && (is_last || samples_[next] < edges[i + 1])) ++next;
    const bool is_outer = i == 0 || is_last;
    if (next == first && is_outer && edges.size() > 2) continue;
    buckets.push_back({edges[i], edges[i + 1], next - first});
  }
  return buckets;
}

Distribution sample(const std::function<void()>& body, const Sampling& sampling,
                    const std::function<void()>& between) {
  body();  // what is done only once
  if (between) between();
  const usize calls = calls_for(body, sampling, between);
  std::vector<f64> samples;
  os::Clock& clock = os::host_clock();
  const u64 end = clock.now_ns() + static_cast<u64>(sampling.seconds * 1e9);
  while (samples.size() < sampling.runs && (samples.size() < kFewest || clock.now_ns() < end)) {
    samples.push_back(time_calls(body, calls) / static_cast<f64>(calls));
    if (between) between();
  }
  return {std::move(samples), calls};
}

f64 clock_read_ns() {
  const Sampling sampling{.runs = 21, .seconds = 0.1, .shortest_ns = 20'000};
  return sample([] { os::host_clock().now_ns(); }, sampling).median();
}

std::string time_text(f64 ns) {
  const Unit unit = unit_of(ns);
  return figure(ns / unit.ns) + " " + unit.name;
}

std::string histogram_text(const Distribution& distribution) {
  const std::vector<Distribution::Bucket> buckets = distribution.histogram();
  usize most = 0;
  for (const Distribution::Bucket& bucket : buckets) most = std::max(most, bucket.count);
  std::string text;
  for (const Distribution::Bucket& bucket : buckets) {
    const f64 share =
        std::log1p(static_cast<f64>(bucket.count)) / std::log1p(static_cast<f64>(most));
    const usize length = static_cast<usize>(std::lround(share * kBarWidth));
    text +=
        fmt::format("  {:>8} .. {:>8}  {:>7}{}{}\n", time_text(bucket.from), time_text(bucket.to),
                    bucket.count, length == 0 ? "" : "  ", std::string(length, '#'));
  }
  return text;
}

}  // namespace doorbell::tools
