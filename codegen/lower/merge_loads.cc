// Loads are grouped by their index without its constant; runs of constants become vectors.
#include "codegen/lower/merge_loads.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "codegen/linear/multiple.h"
#include "codegen/lower/affine.h"
#include "core/uop/arena.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

struct Member {
  i64 offset;
  UOp load;
};

// The ids of the memory, the base of the index, the gate, and the value where the gate is false
// (-1: none).
using Family = std::tuple<i64, i64, i64, i64>;

class Merger {
 public:
  Merger(core::Rewriter& rewriter, const Caps& caps) : rw_(rewriter), caps_(caps) {}
  UOp run(UOp sink);

 private:
  // A vector load, made when the first of its members is reached.
  struct Run {
    i64 lanes;
    UOp vector;
  };
  struct Part {
    usize run;
    i64 lane;
  };
  void gather(UOp load);
  void merge(std::vector<Member>& members);
  UOp lane(UOp load, const Part& part);
  UOp& image(UOp u) {
    if (map_.size() <= u.id()) map_.resize(u.id() + 1);
    return map_[u.id()];
  }

  core::Rewriter& rw_;
  const Caps& caps_;
  std::map<Family, std::vector<Member>> families_;
  std::vector<Run> runs_;
  std::map<u32, Part> parts_;  // by id of the load
  std::vector<UOp> map_;       // by node id
};

void Merger::gather(UOp load) {
  UOp place = load.src(0);
  if (load.dtype().lanes != 1 || load.narg() > 0 || !place.is(Op::Index)) return;
  i64 offset = to_affine(place.src(1)).constant;
  UOp base = rw_.add(place.src(1), -offset);
  Family family{place.src(0).id(), base.id(), place.nsrc() > 2 ? place.src(2).id() : -1,
                load.nsrc() > 1 ? load.src(1).id() : -1};
  families_[family].push_back({offset, load});
}

void Merger::merge(std::vector<Member>& members) {
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.offset < b.offset; });
  i64 most = std::min<i64>(16, caps_.vector_bytes / members[0].load.dtype().bytes());
  for (usize begin = 0; begin < members.size();) {
    UOp index = members[begin].load.src(0).src(1);
    i64 lanes = 1;
    while (lanes * 2 <= most && lanes * 2 <= known_multiple(index)) lanes *= 2;
    // The length of the run without a gap.
    while (lanes > 1 && (begin + static_cast<usize>(lanes) > members.size() ||
                         members[begin + static_cast<usize>(lanes) - 1].offset !=
                             members[begin].offset + lanes - 1)) {
      lanes /= 2;
    }
    for (i64 i = 0; lanes > 1 && i < lanes; ++i)
      parts_[members[begin + static_cast<usize>(i)].load.id()] = {runs_.size(), i};
    if (lanes > 1) runs_.push_back({lanes, UOp()});
    begin += static_cast<usize>(lanes);
  }
}

// Of a vector whose memory, index and gate are rebuilt already: they may depend on merged loads.
UOp Merger::lane(UOp load, const Part& part) {
  core::Arena& arena = rw_.arena();
  Run& run = runs_[part.run];
  if (!run.vector) {
    core::DType wide = load.dtype().with_lanes(static_cast<u16>(run.lanes));
    UOp place = image(load.src(0));
    absl::InlinedVector<UOp, 3> at(place.srcs().begin(), place.srcs().end());
    at[1] = rw_.add(at[1], -part.lane);
    absl::InlinedVector<UOp, 2> srcs{arena.make(Op::Index, place.dtype(), at)};
    if (load.nsrc() > 1) srcs.push_back(arena.make(Op::Splat, wide, {image(load.src(1))}));
    run.vector = arena.make(Op::Load, wide, srcs);
  }
  return arena.make(Op::Lane, load.dtype(), {run.vector}, {part.lane});
}

UOp Merger::run(UOp sink) {
  std::vector<UOp> order = core::topological_order(rw_.arena(), {&sink, 1});
  for (UOp u : order) {
    if (u.is(Op::Load)) gather(u);
  }
  for (auto& [family, members] : families_) {
    if (members.size() > 1) merge(members);
  }
  for (UOp u : order) {
    if (const auto part = parts_.find(u.id()); part != parts_.end()) {
      UOp made = lane(u, part->second);
      image(u) = made;
      continue;
    }
    absl::InlinedVector<UOp, 8> srcs;
    bool changed = false;
    for (UOp s : u.srcs()) {
      srcs.push_back(image(s));
      changed |= srcs.back() != s;
    }
    image(u) = changed ? rw_.arena().with_srcs(u, srcs) : u;
  }
  return image(sink);
}

}  // namespace

UOp merge_loads(core::Rewriter& rewriter, UOp sink, const Caps& caps) {
  return Merger(rewriter, caps).run(sink);
}

}  // namespace doorbell::codegen
