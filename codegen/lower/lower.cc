// The pipeline, step by step.
#include "codegen/lower/lower.h"

#include <algorithm>

#include <absl/container/flat_hash_map.h>

#include "base/util/check.h"
#include "base/util/log.h"
#include "codegen/linear/linearize.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/lower/decompose.h"
#include "codegen/lower/expand.h"
#include "codegen/lower/kernel_name.h"
#include "codegen/lower/lower_index.h"
#include "codegen/lower/mark_images.h"
#include "codegen/lower/merge_loads.h"
#include "codegen/lower/widen_products.h"
#include "codegen/opt/apply.h"
#include "codegen/opt/heuristic.h"
#include "codegen/opt/merge_ranges.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "core/uop/validate.h"
#include "core/util/config.h"

namespace doorbell::codegen {

using core::Arena;
using core::Op;
using core::Rewriter;
using core::Stage;
using core::UOp;

namespace {

// The graph below the sink of another arena, made again here in simplest form.
UOp import(const core::KernelAst& ast, Rewriter& rewriter) {
  std::vector<UOp> map(ast.arena->node_count());
  struct Frame {
    UOp node;
    usize next;
  };
  std::vector<Frame> stack{{ast.sink, 0}};
  std::vector<UOp> srcs;
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.node.nsrc()) {
      UOp s = top.node.src(top.next++);
      if (!map[s.id()]) stack.push_back({s, 0});
      continue;
    }
    UOp node = top.node;
    stack.pop_back();
    if (map[node.id()]) continue;
    srcs.clear();
    bool closes = node.is(Op::End) || node.is(Op::Reduce);
    for (UOp s : node.srcs()) {
      UOp made = map[s.id()];
      // A range of one value has become the constant 0 and needs no End.
      if (closes && s.is(Op::Range) && !made.is(Op::Range)) continue;
      srcs.push_back(made);
    }
    map[node.id()] = rewriter.make(node.op(), node.dtype(), srcs, node.args());
  }
  return map[ast.sink.id()];
}

void fill_arguments(const core::KernelAst& ast, const KernelInfo& info, LinearProgram* program) {
  program->params.resize(ast.param_count);
  for (UOp u : info.order) {
    if (!u.is(Op::Param)) continue;
    usize slot = static_cast<usize>(u.arg(0));
    CHECK(slot < program->params.size(), "slot {} of {}", slot, program->params.size());
    program->params[slot] = {u.dtype(), u.narg() > 1 ? u.arg(1) : 0, slot < ast.output_count};
  }
  program->variables = ast.variables;
}

// All of the kernel's local memory, if that is more than a kernel has without its launch's help.
i64 dynamic_shared_bytes(const LinearProgram& program, const Caps& caps) {
  if (caps.max_dynamic_shared_bytes == 0) return 0;
  i64 bytes = 0;
  for (UOp u : program.ops)
    if (u.is(Op::DefineLocal)) bytes = local_array_start(u, bytes) + local_array_bytes(u);
  return bytes > caps.max_shared_bytes ? bytes : 0;
}

}  // namespace

KernelInfo merged_info(const core::KernelAst& ast, Arena& arena) {
  Rewriter rewriter(arena, core::simplify_rules());
  UOp imported = import(ast, rewriter);
  return analyse(arena, merge_ranges(rewriter, imported));
}

namespace {

// A plan from outside may be another kernel's.
void check_plan(const Plan& plan, const KernelInfo& info, u32 params) {
  const auto is_axis = [&](i64 id) {
    const usize axis = static_cast<usize>(id);
    return axis < info.ranges.size() && info.ranges[axis].range;
  };
  for (const Opt& o : plan) {
    bool fits = o.op == OptOp::Persistent || is_axis(o.axis);
    if (o.op == OptOp::Stage) fits = o.axis < i64{params};
    if (o.op == OptOp::Join) fits = fits && is_axis(o.amount);
    CHECK(fits, "the plan {} has an axis {}, which the kernel lacks", print(plan), o.axis);
  }
}

LinearProgram run_pipeline(const core::KernelAst& ast, const Caps& caps, Arena& arena,
                           const LowerOptions& options) {
  Rewriter rewriter(arena, core::simplify_rules());
  LinearProgram program;
  program.param_alignment = options.aligned ? caps.param_alignment : 1;

  // In simplest form, with as few loops as its accesses allow.
  UOp sink = import(ast, rewriter);
  core::validate(arena, sink, Stage::Kernel, "import");
  sink = merge_ranges(rewriter, sink);
  core::validate(arena, sink, Stage::Kernel, "merge_ranges");
  KernelInfo info = analyse(arena, sink);
  program.name = kernel_name(info, ast.key);
  program.flops = info.flops;
  program.bytes = info.bytes;

  sink = widen_products(rewriter, sink, caps);
  core::validate(arena, sink, Stage::Kernel, "widen_products");

  // From here on all operations and dtypes are supported by the target.
  sink = decompose(rewriter, sink, caps);
  core::validate(arena, sink, Stage::Kernel, "decompose");

  // Which loops are lanes, registers, blocks, threads or work items. Ids become the nesting order.
  info = analyse(arena, sink);
  fill_arguments(ast, info, &program);
  Plan plan;
  if (options.plan) {
    plan = *options.plan;
    check_plan(plan, info, ast.param_count);
  } else if (options.optimise) {
    plan = caps.has_local ? choose_group_plan(info, caps) : choose_plan(info, caps);
  }
  program.plan = print(plan);
  if (core::config().debug >= 3 && !plan.empty()) log().debug("{}: {}", program.name, program.plan);
  Applied applied = caps.has_local ? apply_groups(rewriter, info, caps, sink, plan)
                                   : apply(rewriter, info, sink, plan);
  program.threads = applied.threads;
  std::copy_n(applied.groups, 3, program.grid_groups);
  std::copy_n(applied.items, 3, program.group_items);
  core::validate(arena, applied.sink, Stage::Kernel, "apply");

  // From here on there are only loops; marked ranges are straight-line code over vectors.
  sink = expand(rewriter, applied.sink, caps);
  if (caps.has_local) sink = merge_loads(rewriter, sink, caps);
  core::validate(arena, sink, Stage::Expanded, "expand");

  // From here on every index is a machine integer.
  sink = lower_index(rewriter, sink, caps);
  core::validate(arena, sink, Stage::Lowered, "lower_index");
  program.ops = linearize(arena, sink);
  program.dynamic_shared_bytes = dynamic_shared_bytes(program, caps);
  program.tensor_maps = tensor_maps_of(program.ops);
  mark_images(caps, &program);
  return program;
}

}  // namespace

LinearProgram lower(const core::KernelAst& ast, const Caps& caps, Arena& arena,
                    const LowerOptions& options) {
  try {
    // Maps and loads that transpose need aligned memory.
    Caps fitting = caps;
    fitting.tensor_copies &= options.aligned;
    fitting.transposing_loads &= options.aligned;
    return run_pipeline(ast, fitting, arena, options);
  } catch (InternalError& error) {
    error.message += "\nin the kernel\n" + core::print_tensor_graph(ast.sink);
    throw;
  }
}

}  // namespace doorbell::codegen
