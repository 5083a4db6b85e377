// The operations of the IR as an enum with their names and groups, from ops.def. Semantics of the
// arithmetic are computed by core/eval; see validate.h for which op is legal where.
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::core {

enum class Op : u8 {
#define DOORBELL_OP(name, group, text) name,
#include "core/uop/ops.def"
#undef DOORBELL_OP
};

inline constexpr usize kOpCount = 0
#define DOORBELL_OP(name, group, text) +1
#include "core/uop/ops.def"
#undef DOORBELL_OP
    ;

enum class OpGroup : u8 { Leaf, Move, Unary, Binary, Ternary, Graph, Kernel };

namespace detail {
inline constexpr OpGroup kOpGroups[] = {
#define DOORBELL_OP(name, group, text) OpGroup::group,
#include "core/uop/ops.def"
#undef DOORBELL_OP
};
inline constexpr std::string_view kOpNames[] = {
#define DOORBELL_OP(name, group, text) #name,
#include "core/uop/ops.def"
#undef DOORBELL_OP
};
}  // namespace detail

constexpr OpGroup group_of(Op op) { return detail::kOpGroups[static_cast<usize>(op)]; }
constexpr std::string_view name_of(Op op) { return detail::kOpNames[static_cast<usize>(op)]; }

constexpr bool is_elementwise(Op op) {
  OpGroup g = group_of(op);
  return g == OpGroup::Unary || g == OpGroup::Binary || g == OpGroup::Ternary;
}
constexpr bool is_movement(Op op) { return group_of(op) == OpGroup::Move; }
constexpr bool is_comparison(Op op) {
  return op == Op::CmpLt || op == Op::CmpEq || op == Op::CmpNe;
}
constexpr bool is_commutative(Op op) {
  switch (op) {
    case Op::Add:
    case Op::Mul:
    case Op::Max:
    case Op::CmpEq:
    case Op::CmpNe:
    case Op::And:
    case Op::Or:
    case Op::Xor: return true;
    default: return false;
  }
}
constexpr bool is_associative(Op op) {
  return op == Op::Add || op == Op::Mul || op == Op::Max || op == Op::And || op == Op::Or ||
         op == Op::Xor;
}

// What a loop index stands for. The order is the default nesting order, outermost first.
enum class AxisType : u8 {
  Global,       // one work group (or host-parallel task) per value
  Thread,       // split over host worker threads
  Local,        // one work item of a group per value
  Loop,         // a sequential loop over output elements
  GroupReduce,  // reduced over work items through local memory
  Reduce,       // a sequential loop that accumulates
  Unroll,       // a reduced axis, fully unrolled
  Upcast,       // an output axis, fully unrolled into registers
  Vector,       // the one unrolled axis that becomes the lanes of vector values
};
std::string_view name_of(AxisType type);

enum class SpecialKind : u8 { GroupId, LocalId, ThreadId };

}  // namespace doorbell::core
