// The specification as code: the ops of each stage, and for each op its sources, dtypes and args.
#include "core/uop/validate.h"

#include "base/util/check.h"
#include "base/util/format.h"
#include "core/uop/placement.h"
#include "core/util/config.h"

namespace doorbell::core {

namespace {

bool allowed(Op op, Stage stage) {
  switch (op) {
    case Op::Const:
    case Op::Variable: return true;
    case Op::Buffer:
    case Op::Contiguous:
    case Op::Detach:
    case Op::CustomGradient:
    case Op::Copy:
    case Op::Shard:
    case Op::Multi:
    case Op::Assign:
    case Op::Bind: return stage == Stage::Tensor;
    case Op::Reduce: return stage == Stage::Tensor || stage == Stage::Kernel;
    case Op::Vec:
    case Op::Splat:
    case Op::Lane:
    case Op::Ramp:
    case Op::DefineReg:
    case Op::If:
    case Op::EndIf: return stage == Stage::Expanded || stage == Stage::Lowered;
    case Op::Wmma: return stage != Stage::Tensor;
    default:
      if (is_elementwise(op)) return true;
      return is_movement(op) == (stage == Stage::Tensor);
  }
}

std::string elementwise(UOp u) {
  usize wanted = group_of(u.op()) == OpGroup::Unary    ? 1
                 : group_of(u.op()) == OpGroup::Binary ? 2
                                                       : 3;
  if (u.nsrc() != wanted) return fmt::format("{} sources, expected {}", u.nsrc(), wanted);
  for (UOp s : u.srcs()) {
    if (s.dtype().lanes != u.dtype().lanes) {
      return fmt::format("a source of {} for {}", s.dtype().str(), u.dtype().str());
    }
  }
  DType x = u.src(0).dtype();
  if (u.is(Op::Cast)) return {};
  if (u.is(Op::Bitcast)) {
    bool same = x.bytes() == u.dtype().bytes();
    return same ? "" : fmt::format("bits of {} as {}", x.str(), u.dtype().str());
  }
  if (u.is(Op::Where)) {
    if (!x.is_bool()) return fmt::format("a condition of {}", x.str());
    bool same = u.src(1).dtype() == u.dtype() && u.src(2).dtype() == u.dtype();
    return same ? ""
                : fmt::format("{} and {} for {}", u.src(1).dtype().str(), u.src(2).dtype().str(),
                              u.dtype().str());
  }
  bool compares = is_comparison(u.op());
  if (compares && !u.dtype().is_bool()) return fmt::format("a comparison of {}", u.dtype().str());
  if (!compares && x != u.dtype()) return fmt::format("{} for {}", x.str(), u.dtype().str());
  bool shift = u.is(Op::Shl) || u.is(Op::Shr);
  if (!shift && wanted > 1 && u.src(1).dtype() != x) {
    return fmt::format("operands {} and {}", x.str(), u.src(1).dtype().str());
  }
  return {};
}

bool is_memory(UOp u) {
  while (u.is(Op::After)) u = u.src(0);
  return u.is(Op::Param) || u.is(Op::DefineLocal) || u.is(Op::DefinePrivate);
}

bool is_register(UOp u) {
  while (u.is(Op::After)) u = u.src(0);
  return u.is(Op::DefineReg);
}

bool is_effect(UOp u) { return u.dtype().scalar == Scalar::Void; }

std::string access(UOp u, Stage stage) {
  if (u.nsrc() < 2 || u.nsrc() > 3) return fmt::format("{} sources", u.nsrc());
  if (!is_memory(u.src(0))) return fmt::format("memory is {}", name_of(u.src(0).op()));
  DType index = u.src(1).dtype();
  bool lowered = stage == Stage::Lowered;
  if (lowered ? !index.is_int() : !index.is_index()) return "an index of " + index.str();
  if (u.nsrc() == 3 && !u.src(2).dtype().is_bool()) return "a gate of " + u.src(2).dtype().str();
  return {};
}

std::string load_or_store(UOp u) {
  UOp place = u.src(0);
  if (is_register(place)) {
    bool same = u.is(Op::Load) ? u.dtype() == place.dtype() : u.src(1).dtype() == place.dtype();
    return same ? "" : fmt::format("register of {}", place.dtype().str());
  }
  if (!place.is(Op::Index)) return fmt::format("place is {}", name_of(place.op()));
  // Copies of whole boxes, and waits for them, have sources of their own.
  if (u.is(Op::Store) && u.narg() > 0 && u.arg(0) > 1) return {};
  DType value = u.is(Op::Load) ? u.dtype() : u.nsrc() > 1 ? u.src(1).dtype() : DType{};
  if (value.element() != place.dtype().element()) {
    return fmt::format("{} at memory of {}", value.str(), place.dtype().str());
  }
  bool gated = place.nsrc() > 2;
  if (gated && place.src(2).dtype().lanes != 1 && place.src(2).dtype().lanes != value.lanes) {
    return fmt::format("a gate of {} for {}", place.src(2).dtype().str(), value.str());
  }
  if (u.is(Op::Load) && gated != (u.nsrc() == 2)) return "a gate without the value of masked lanes";
  return {};
}

std::string reduction(UOp u, Stage stage) {
  if (u.narg() != 2 || u.nsrc() == 0) return fmt::format("{} args", u.narg());
  if (u.src(0).dtype() != u.dtype())
    return u.src(0).dtype().str() + " reduced to " + u.dtype().str();
  if (stage == Stage::Tensor) return u.nsrc() == 1 ? "" : "sources beside the value";
  for (usize i = 1; i < u.nsrc(); ++i) {
    if (!u.src(i).is(Op::Range)) return fmt::format("reduces over {}", name_of(u.src(i).op()));
  }
  return {};
}

// Parts, or copies.
std::string several_devices(UOp u) {
  const bool stored = u.is(Op::Multi);
  if (u.narg() == 0 || u.arg(0) < kReplicated || (stored && u.arg(0) != layout_in(u.arg(0))))
    return "no layout";
  const usize count = stored ? u.nsrc() : u.narg() - 1;
  if (count < 2) return fmt::format("{} devices, expected several", count);
  i64 mesh = 1;
  for (const MeshAxis& one : mesh_axes_of(layout_in(u.arg(0)), static_cast<i64>(count)))
    mesh *= one.count;
  if (mesh != static_cast<i64>(count))
    return fmt::format("{} devices, expected a mesh of {}", count, mesh);
  if (!stored) return u.nsrc() == 1 ? "" : fmt::format("{} sources", u.nsrc());
  for (UOp part : u.srcs()) {
    if (!part.is(Op::Buffer)) return fmt::format("a part is {}", name_of(part.op()));
    if (part.dtype() != u.dtype()) return part.dtype().str() + " in a value of " + u.dtype().str();
  }
  return {};
}

// Operands A and B, then in a kernel the Range of an item's results and that of its operands, if
// they are several; after expansion, vectors of them, or their places in local memory, and C.
std::string matrix(UOp u, Stage stage) {
  const bool ranges = stage == Stage::Kernel, places = u.src(0).is(Op::Index);
  if (u.narg() != (places ? 6u : 1u)) return fmt::format("{} args", u.narg());
  if (u.nsrc() != (ranges ? 4u : 3u)) return fmt::format("{} sources", u.nsrc());
  if (u.src(0).dtype() != u.src(1).dtype()) return "operands of different dtypes";
  if (ranges)
    return u.src(2).is(Op::Range) && (u.src(3).is(Op::Range) || u.src(3).is_const(0)) ? ""
                                                                                      : "no ranges";
  return u.src(2).dtype() == u.dtype() ? "" : "a sum of " + u.src(2).dtype().str();
}

std::string closing(UOp u) {
  if (u.nsrc() < 1 || !is_effect(u.src(0))) return "closes no effect";
  for (usize i = 1; i < u.nsrc(); ++i) {
    if (!u.src(i).is(Op::Range)) return fmt::format("closes {}", name_of(u.src(i).op()));
  }
  return {};
}

}  // namespace

std::string invalid(UOp u, Stage stage) {
  if (!allowed(u.op(), stage)) return "not an op of this stage";
  if (u.dtype().is_index() && stage == Stage::Lowered) return "dtype index after lowering";
  if (is_elementwise(u.op())) return elementwise(u);
  switch (u.op()) {
    case Op::Const: return u.narg() == 1 && u.nsrc() == 0 ? "" : "a constant of several values";
    case Op::Range: return u.nsrc() == 1 && u.narg() == 2 ? "" : "a range without size";
    case Op::Reduce: return reduction(u, stage);
    case Op::Shard:
    case Op::Multi: return several_devices(u);
    case Op::Index: return access(u, stage);
    case Op::Load:
    case Op::Store: return load_or_store(u);
    case Op::End: return closing(u);
    case Op::Wmma: return matrix(u, stage);
    case Op::Group:
    case Op::Sink:
      for (UOp s : u.srcs()) {
        if (!is_effect(s)) return fmt::format("{} is no effect", name_of(s.op()));
      }
      return {};
    case Op::Splat: return u.src(0).dtype() == u.dtype().element() ? "" : "lanes of another dtype";
    case Op::Vec: return u.nsrc() == u.dtype().lanes ? "" : "not one source a lane";
    case Op::Lane:
      return u.arg(0) >= 0 && u.arg(0) + u.dtype().lanes <= u.src(0).dtype().lanes ? ""
                                                                                   : "no such lane";
    default: return {};
  }
}

void validate(Arena& arena, UOp root, Stage stage, const char* after_pass) {
#ifdef NDEBUG
  constexpr bool kByDefault = false;
#else
  constexpr bool kByDefault = true;
#endif
  int asked = config().check;
  if (asked == 0 || (asked < 0 && !kByDefault)) return;
  for (UOp u : topological_order(arena, {&root, 1})) {
    std::string reason = invalid(u, stage);
    CHECK(reason.empty(), "after {}: {} of {}: {}", after_pass, name_of(u.op()), u.dtype().str(),
          reason);
  }
}

}  // namespace doorbell::core
