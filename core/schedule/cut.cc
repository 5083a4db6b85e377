// Cutting works on one kernel at a time, sources before users: a node whose cone within the kernel
// is too large has its largest sources stored.
#include "core/schedule/cut.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

class Cutter {
 public:
  Cutter(const LazyGraph& graph, const ScheduleOptions& options, Sweep* sweep)
      : graph_(graph), options_(options), sweep_(*sweep), seen_(graph.size(), kNoNode) {}

  void run();

 private:
  // What a node needs within its kernel.
  struct Cone {
    usize first;                 // the least place in the region of a node in it
    usize ops;                   // an upper bound of the nodes in it
    std::vector<LazyId> inputs;  // sorted
  };

  // The node that a source stands for, below movement ops; or a movement op that is stored.
  LazyId strip(LazyId id) const {
    while (is_movement(graph_[id].op) && sweep_.stored[id] == Stored::No) id = graph_.src(id);
    return id;
  }
  bool is_input(LazyId id) const { return graph_.is_leaf(id) || sweep_.stored[id] != Stored::No; }
  bool is_large(std::span<const LazyId> region);
  bool is_large(const Cone& cone) const {
    return cone.ops > options_.max_ops || cone.inputs.size() > options_.max_buffers - 1;
  }
  void cut(std::span<const LazyId> region);
  Cone cone_of(LazyId id, usize place, std::span<const Cone> cones) const;
  // The source to store so that the cone of `id` becomes smaller; kNoNode if there is none.
  LazyId pick(LazyId id, std::span<const Cone> cones) const;
  void assign_owners(std::span<const LazyId> region);

  const LazyGraph& graph_;
  const ScheduleOptions& options_;
  Sweep& sweep_;
  std::vector<LazyId> seen_;   // by node: the owner whose inputs were counted with it last
  std::vector<usize> places_;  // by node: its place in its region
};

void Cutter::run() {
  // Nodes by owner, ascending: a counting sort.
  std::vector<u32> starts(graph_.size() + 1, 0);
  for (LazyId owner : sweep_.owner) {
    if (owner != kNoNode) ++starts[owner + 1];
  }
  for (LazyId id = 0; id < graph_.size(); ++id) starts[id + 1] += starts[id];
  std::vector<LazyId> nodes(starts.back());
  std::vector<u32> next(starts.begin(), starts.end() - 1);
  for (LazyId id = 0; id < graph_.size(); ++id) {
    if (sweep_.owner[id] != kNoNode) nodes[next[sweep_.owner[id]]++] = id;
  }
  for (LazyId id = 0; id < graph_.size(); ++id) {
    std::span<const LazyId> region(nodes.data() + starts[id], starts[id + 1] - starts[id]);
    if (!region.empty() && is_large(region)) cut(region);
  }
}

bool Cutter::is_large(std::span<const LazyId> region) {
  usize inputs = 0;
  for (LazyId id : region) {
    for (LazyId s : graph_.sources(id)) {
      LazyId base = strip(s);
      if (!is_input(base) || graph_[base].op == Op::Const || seen_[base] == region.back()) continue;
      seen_[base] = region.back();
      ++inputs;
    }
  }
  return region.size() > options_.max_ops || inputs > options_.max_buffers - 1;
}

Cutter::Cone Cutter::cone_of(LazyId id, usize place, std::span<const Cone> cones) const {
  Cone cone{place, 1, {}};
  for (LazyId s : graph_.sources(id)) {
    LazyId base = strip(s);
    if (graph_[base].op == Op::Const) continue;
    if (is_input(base)) {
      auto at = std::ranges::lower_bound(cone.inputs, base);
      if (at == cone.inputs.end() || *at != base) cone.inputs.insert(at, base);
      continue;
    }
    const Cone& below = cones[places_[base]];
    cone.first = std::min(cone.first, below.first);
    cone.ops += below.ops;
    std::vector<LazyId> merged;
    std::ranges::set_union(cone.inputs, below.inputs, std::back_inserter(merged));
    cone.inputs = std::move(merged);
  }
  cone.ops = std::min(cone.ops, place - cone.first + 1);
  return cone;
}

LazyId Cutter::pick(LazyId id, std::span<const Cone> cones) const {
  LazyId best = kNoNode;
  auto size = [&](LazyId s) {
    const Cone& cone = cones[places_[s]];
    return std::pair(cone.inputs.size() * options_.max_ops + cone.ops * options_.max_buffers, s);
  };
  for (LazyId s : graph_.sources(id)) {
    LazyId base = strip(s);
    if (!is_input(base) && (best == kNoNode || size(base) > size(best))) best = base;
  }
  return best;
}

void Cutter::cut(std::span<const LazyId> region) {
  if (places_.empty()) places_.resize(graph_.size());
  std::vector<Cone> cones(region.size());
  for (usize place = 0; place < region.size(); ++place) {
    LazyId id = region[place];
    places_[id] = place;
    if (is_movement(graph_[id].op)) continue;
    cones[place] = cone_of(id, place, cones);
    while (is_large(cones[place])) {
      LazyId largest = pick(id, cones);
      if (largest == kNoNode) break;
      sweep_.stored[largest] = Stored::Must;
      sweep_.work[largest] = sweep_.work[region.back()];
      cones[place] = cone_of(id, place, cones);
    }
  }
  assign_owners(region);
}

// A node that two of the new kernels need is computed in both; its owner is the later one.
void Cutter::assign_owners(std::span<const LazyId> region) {
  for (usize place = region.size(); place-- > 0;) {
    LazyId id = region[place];
    if (sweep_.stored[id] != Stored::No) sweep_.owner[id] = id;
    for (LazyId s : graph_.sources(id)) {
      if (!is_input(s) && sweep_.owner[s] != kNoNode) sweep_.owner[s] = sweep_.owner[id];
    }
  }
}

}  // namespace

void cut_large_kernels(const LazyGraph& graph, const ScheduleOptions& options, Sweep* sweep) {
  Cutter(graph, options, sweep).run();
}

}  // namespace doorbell::core
