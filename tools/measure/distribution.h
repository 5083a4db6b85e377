// Distribution: many measurements of one thing, with percentiles and a histogram. sample() takes
// them. The caller knows what one call is and how to read the results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/util/types.h"

namespace doorbell::tools {

class Distribution {
 public:
  struct Bucket {
    f64 from, to;  // `to` belongs to the next, but for the last
    usize count;
  };

  Distribution() = default;
  // Nanoseconds of one call; each sample is the mean of `calls` calls in a row.
  Distribution(std::vector<f64> samples, usize calls);

  bool empty() const { return samples_.empty(); }
  usize count() const { return samples_.size(); }
  usize calls() const { return calls_; }
  // The smallest sample that `share` of all samples do not exceed. Needs at least one sample.
  f64 at(f64 share) const;
  f64 least() const { return samples_.front(); }
  f64 median() const { return at(0.5); }
  f64 most() const { return samples_.back(); }
  f64 mean() const;
  // Buckets of equal ratio from p1 to p99, and one below and one above if they have samples.
  std::vector<Bucket> histogram(usize inner = 10) const;

 private:
  std::vector<f64> samples_;  // sorted
  usize calls_ = 1;
};

struct Sampling {
  usize runs = 1000;          // samples
  f64 seconds = 0.5;          // no new sample after this, once there are a few
  f64 shortest_ns = 1000;     // calls are grouped into samples of at least this length,
  usize max_calls = 100'000;  // but never more calls than this
};

// `between` runs untimed after each sample.
Distribution sample(const std::function<void()>& body, const Sampling& sampling,
                    const std::function<void()>& between = {});

// The cost of reading the clock, which every sample contains once.
f64 clock_read_ns();

// "812 ns", "1.23 us", "45.6 ms": three digits in a fitting unit.
std::string time_text(f64 ns);

// One line per bucket: its range, its count and a bar as long as the logarithm of the count.
std::string histogram_text(const Distribution& distribution);

}  // namespace doorbell::tools
