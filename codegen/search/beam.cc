// The steps of a search.
#include "codegen/search/beam.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/util/try.h"

namespace doorbell::codegen {
namespace {

constexpr int kCandidates = 12;    // compiled at each step, for each plan of the beam
constexpr int kSamples = 5;        // runs of a candidate, of which the shortest counts
constexpr f64 kHopeless = 1.5;     // a first run so much longer than the best is the only one
constexpr f64 kEnough_ns = 50e6;   // of runs of one candidate
constexpr f64 kWorthStep = 0.995;  // the best must shrink by this, or the search ends
constexpr int kPairs = 9;          // of runs at the end
constexpr f64 kWorthChange = 0.98;

struct Timed {
  Plan plan;
  BuiltPlan built;
  f64 ns = 0;
};

struct Candidate {
  usize parent;
  Move move;
  f64 expected_ns;
};

f64 median(std::vector<f64> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Search {
 public:
  Search(const KernelInfo& info, const Caps& caps, PlanBench& bench, os::Clock& clock,
         MoveGains* gains, const BeamOptions& options)
      : info_(info), caps_(caps), bench_(bench), clock_(clock), gains_(gains), options_(options) {}

  Result<BeamResult> run(const Plan& heuristic);

 private:
  Result<f64> time(const BuiltPlan& built, f64 best_ns);
  std::vector<Candidate> candidates();
  void try_all(const std::vector<Candidate>& candidates);
  // Of two plans, the factor by which the second is faster in turns.
  Result<f64> compare(const BuiltPlan& before, const BuiltPlan& after);
  bool has_time() const {
    return clock_.now_ns() - begin_ns_ < options_.budget_ns * static_cast<u64>(options_.width);
  }

  const KernelInfo& info_;
  const Caps& caps_;
  PlanBench& bench_;
  os::Clock& clock_;
  MoveGains* gains_;
  const BeamOptions& options_;
  const u64 begin_ns_ = clock_.now_ns();
  std::vector<Timed> beam_;
  std::set<std::string> seen_;  // plans, printed
  std::set<u64> codes_;
  BeamResult result_;
};

// The shortest of a few runs: what disturbs a run makes it longer.
Result<f64> Search::time(const BuiltPlan& built, f64 best_ns) {
  ++result_.timed;
  f64 shortest = std::numeric_limits<f64>::infinity(), spent = 0;
  for (int i = 0; i < kSamples; ++i) {
    TRY(const f64 ns, bench_.run(built));
    shortest = std::min(shortest, ns);
    spent += ns;
    if (spent > kEnough_ns || shortest > kHopeless * best_ns) break;
  }
  return shortest;
}

std::vector<Candidate> Search::candidates() {
  std::vector<Candidate> all;
  for (usize parent = 0; parent < beam_.size(); ++parent) {
    for (Move& move : moves_from(info_, caps_, beam_[parent].plan)) {
      if (!seen_.insert(print(move.plan)).second) continue;
      const f64 gain = gains_ != nullptr ? gains_->expected(options_.kind, move.word) : 1;
      const f64 expected = beam_[parent].ns * gain;
      all.push_back({parent, std::move(move), expected});
    }
  }
  std::ranges::stable_sort(all, {}, &Candidate::expected_ns);
  const usize most = static_cast<usize>(kCandidates * options_.width);
  // Those left out may be tried in a later step.
  for (usize i = most; i < all.size(); ++i) seen_.erase(print(all[i].move.plan));
  if (all.size() > most) all.erase(all.begin() + static_cast<i64>(most), all.end());
  return all;
}

void Search::try_all(const std::vector<Candidate>& candidates) {
  std::vector<Plan> plans;
  for (const Candidate& c : candidates) plans.push_back(c.move.plan);
  std::vector<std::optional<BuiltPlan>> built = bench_.build(plans);
  std::vector<Timed> found;
  f64 best = beam_[0].ns;
  for (usize i = 0; i < candidates.size(); ++i) {
    if (!built[i]) continue;
    ++result_.built;
    if (!codes_.insert(built[i]->code).second || !has_time()) continue;
    const Result<f64> ns = time(*built[i], best);
    if (!ns) continue;
    best = std::min(best, *ns);
    const Candidate& c = candidates[i];
    if (gains_ != nullptr) gains_->learn(options_.kind, c.move.word, beam_[c.parent].ns, *ns);
    found.push_back({c.move.plan, std::move(*built[i]), *ns});
  }
  std::ranges::move(found, std::back_inserter(beam_));
  std::ranges::stable_sort(beam_, {}, &Timed::ns);
  if (beam_.size() > static_cast<usize>(options_.width))
    beam_.resize(static_cast<usize>(options_.width));
}

Result<f64> Search::compare(const BuiltPlan& before, const BuiltPlan& after) {
  std::vector<f64> ratios;
  for (int pair = 0; pair < kPairs; ++pair) {
    TRY(const f64 first, bench_.run(before));
    TRY(const f64 second, bench_.run(after));
    ratios.push_back(second / first);
  }
  return median(std::move(ratios));
}

Result<BeamResult> Search::run(const Plan& heuristic) {
  std::vector<std::optional<BuiltPlan>> built = bench_.build({&heuristic, 1});
  if (!built[0]) return fail(ErrorKind::Unsupported, "the plan to begin with does not compile");
  TRY(const f64 begin_ns, time(*built[0], std::numeric_limits<f64>::infinity()));
  const Timed start{heuristic, *built[0], begin_ns};
  seen_.insert(print(heuristic));
  codes_.insert(start.built.code);
  beam_ = {start};
  for (int step = 0; step < options_.max_steps && has_time(); ++step) {
    const f64 before = beam_[0].ns;
    try_all(candidates());
    if (beam_[0].ns > before * kWorthStep) break;
  }
  result_.plan = heuristic;
  result_.ns = result_.heuristic_ns = begin_ns;
  if (beam_[0].built.code == start.built.code) return result_;
  TRY(const f64 ratio, compare(start.built, beam_[0].built));
  if (ratio < kWorthChange) result_.plan = beam_[0].plan, result_.ns = begin_ns * ratio;
  return result_;
}

}  // namespace

Result<BeamResult> search_plans(const KernelInfo& info, const Caps& caps, const Plan& heuristic,
                                PlanBench& bench, os::Clock& clock, MoveGains* gains,
                                const BeamOptions& options) {
  return Search(info, caps, bench, clock, gains, options).run(heuristic);
}

}  // namespace doorbell::codegen
