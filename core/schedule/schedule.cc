// The pipeline from a tensor graph to kernels.
#include "core/schedule/schedule.h"

#include "core/rewrite/rewriter.h"
#include "core/rules/reduce.h"
#include "core/schedule/cut.h"
#include "core/schedule/fuse.h"
#include "core/schedule/import.h"
#include "core/schedule/merge_kernels.h"
#include "core/schedule/sweep.h"

namespace doorbell::core {

Schedule make_schedule(const GraphKey& key, std::span<const UOp> roots,
                       const ScheduleOptions& options) {
  Arena arena;
  Rewriter rewriter(arena, kernel_rules());
  LazyGraph graph;
  Moves moves(arena, rewriter, graph);

  Importer(arena, rewriter, moves, graph, options).run(key, roots);
  // From here on nodes are numbers, and values that must be in memory are marked.
  Sweep decisions = sweep(graph, moves, arena, options);
  // Every value has an owner: the stored value whose kernel computes it.
  cut_large_kernels(graph, options, &decisions);
  // Every kernel is within the limits, as long as no candidate is computed twice.
  Fuser fuser(arena, rewriter, graph, moves, decisions, options);
  Schedule schedule = fuser.run();
  // Every kernel stores one value.
  if (options.merge_kernels) merge_kernels(rewriter, schedule, options, &fuser.kernels());
  finish_kernels(arena, fuser.kernels(), &schedule);
  return schedule;
}

Schedule make_schedule(std::span<const UOp> roots, const ScheduleOptions& options) {
  GraphKey key;
  key.walk(roots, true);
  return make_schedule(key, roots, options);
}

}  // namespace doorbell::core
