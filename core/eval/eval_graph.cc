// GraphProgram: every node gets a slot; every Reduce and End gets the list of nodes that vary with
// its ranges. A node below two loops is in both lists, so a loop saves what it overwrites.
#include "core/eval/eval_graph.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::core {
namespace {

bool closes_ranges(UOp uop) { return (uop.is(Op::Reduce) && uop.nsrc() > 1) || uop.is(Op::End); }

UOp memory_of(UOp index) {
  UOp memory = index.src(0);
  while (memory.is(Op::After)) memory = memory.src(0);
  CHECK(memory.is(Op::Param), "{} as memory", name_of(memory.op()));
  return memory;
}

}  // namespace

GraphProgram::GraphProgram(std::span<const UOp> roots) {
  number(roots);
  values_.resize(nodes_.size());
  loop_of_.assign(nodes_.size(), -1);
  find_ranges();
  for (u32 slot = 0; slot < nodes_.size(); ++slot) {
    if (closes_ranges(nodes_[slot])) build_loop(slot);
  }
  std::vector<u32> root_slots;
  for (UOp root : roots) root_slots.push_back(slot_of(root));
  top_ = order_of(root_slots, ~u64{0}, nullptr);
  for (u32 slot = 0; slot < nodes_.size(); ++slot) {
    UOp uop = nodes_[slot];
    if (uop.is(Op::Const)) values_[slot] = {{uop.dtype().scalar, uop.arg(0)}, true, true};
    if (uop.is(Op::Variable)) variables_.push_back(uop);
  }
}

void GraphProgram::number(std::span<const UOp> roots) {
  std::vector<std::pair<UOp, usize>> stack;
  auto push = [&](UOp uop) {
    if (slots_by_node_.try_emplace(uop.node(), UINT32_MAX).second) stack.push_back({uop, 0});
  };
  for (UOp root : roots) {
    push(root);
    while (!stack.empty()) {
      auto& [uop, next] = stack.back();
      if (next < uop.nsrc()) {
        push(uop.src(next++));
        continue;
      }
      slots_by_node_[uop.node()] = static_cast<u32>(nodes_.size());
      nodes_.push_back(uop);
      stack.pop_back();
    }
  }
}

void GraphProgram::find_ranges() {
  varies_.assign(nodes_.size(), 0);
  u32 range_count = 0;
  for (u32 slot = 0; slot < nodes_.size(); ++slot) {
    UOp uop = nodes_[slot];
    for (UOp src : uop.srcs()) varies_[slot] |= varies_[slot_of(src)];
    if (uop.is(Op::Range)) {
      CHECK(range_count < 64, "more than 64 ranges in one program");
      varies_[slot] |= u64{1} << range_count++;
    }
    if (!closes_ranges(uop)) continue;
    u64 closed = 0;
    for (UOp range : uop.srcs().subspan(1)) {
      CHECK(range.is(Op::Range), "{} closes {}", name_of(uop.op()), name_of(range.op()));
      closed |= varies_[slot_of(range)] & ~varies_[slot_of(range.src(0))];
    }
    varies_[slot] &= ~closed;
  }
}

// What must be evaluated before a node: for a loop, its boundary.
std::span<const u32> GraphProgram::children(u32 slot, std::vector<u32>* storage) const {
  if (loop_of_[slot] >= 0) return loops_[static_cast<usize>(loop_of_[slot])].boundary;
  storage->clear();
  for (UOp src : nodes_[slot].srcs()) storage->push_back(slot_of(src));
  return *storage;
}

// The nodes below `roots` that vary with a range of `varying` (all of them when it is ~0), in
// order. With `boundary`: also collects the visited ones that do not.
std::vector<u32> GraphProgram::order_of(std::span<const u32> roots, u64 varying,
                                        std::vector<u32>* boundary) {
  std::vector<u32> order, storage;
  std::vector<bool> seen(nodes_.size());
  struct Visit {
    u32 slot;
    std::vector<u32> children;
    usize next;
  };
  std::vector<Visit> stack;
  auto push = [&](u32 slot) {
    if (seen[slot]) return;
    seen[slot] = true;
    if (boundary && !(varies_[slot] & varying)) {
      boundary->push_back(slot);
      return;
    }
    std::span<const u32> below = children(slot, &storage);
    stack.push_back({slot, {below.begin(), below.end()}, 0});
  };
  for (u32 root : roots) {
    push(root);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.children.size()) {
        push(visit.children[visit.next++]);
        continue;
      }
      order.push_back(visit.slot);
      stack.pop_back();
    }
  }
  return order;
}

void GraphProgram::build_loop(u32 slot) {
  UOp closer = nodes_[slot];
  Loop loop;
  loop.closer = closer;
  std::vector<u32> roots;
  u64 varying = 0;
  for (UOp range : closer.srcs().subspan(1)) {
    loop.ranges.push_back(slot_of(range));
    roots.push_back(slot_of(range));
    varying |= varies_[slot_of(range)] & ~varies_[slot_of(range.src(0))];
  }
  roots.push_back(slot_of(closer.src(0)));
  loop.body = order_of(roots, varying, &loop.boundary);
  loop_of_[slot] = static_cast<i32>(loops_.size());
  loops_.push_back(std::move(loop));
}

void GraphProgram::set(UOp leaf, ScalarValue value) {
  auto found = slots_by_node_.find(leaf.node());
  if (found != slots_by_node_.end()) values_[found->second] = {value, true, true};
}

void GraphProgram::set_memory(i64 slot, void* data, i64 count) {
  if (static_cast<usize>(slot) >= memory_.size()) memory_.resize(static_cast<usize>(slot) + 1);
  memory_[static_cast<usize>(slot)] = {static_cast<std::byte*>(data), count};
}

void GraphProgram::run() { run_list(top_); }

std::optional<ScalarValue> GraphProgram::value(UOp root) const {
  const Slot& slot = values_[slot_of(root)];
  if (!slot.valid) return std::nullopt;
  return slot.value;
}

void GraphProgram::run_list(const std::vector<u32>& list) {
  for (u32 slot : list) run_node(slot);
}

// Recursive through run_list: as deep as the loop nest, which is at most 64 ranges.
void GraphProgram::run_loop(const Loop& loop, u32 slot) {
  std::vector<Slot> saved;
  for (u32 inner : loop.body) saved.push_back(values_[inner]);
  std::vector<i64> sizes, at(loop.ranges.size());
  bool empty = false;
  for (u32 range : loop.ranges) {
    sizes.push_back(values_[slot_of(nodes_[range].src(0))].value.as_int());
    empty |= sizes.back() <= 0;
  }
  const bool reduces = loop.closer.is(Op::Reduce);
  const u32 result = slot_of(loop.closer.src(0));
  DType dtype = loop.closer.dtype();
  ScalarValue total;
  bool valid = true;
  if (reduces) total = reduce_identity(loop.closer.reduce_op(), dtype);
  while (!empty) {
    for (usize i = 0; i < at.size(); ++i)
      values_[loop.ranges[i]] = {ScalarValue::index(at[i]), true, true};
    run_list(loop.body);
    if (reduces) {
      valid = valid && values_[result].valid;
      std::optional<ScalarValue> next;
      if (valid)
        next = eval(loop.closer.reduce_op(), dtype,
                    std::array{total, convert(dtype, values_[result].value)});
      valid = next.has_value();
      if (valid) total = *next;
    }
    usize axis = at.size();
    while (axis > 0 && ++at[axis - 1] == sizes[axis - 1]) at[--axis] = 0;
    if (axis == 0) break;
  }
  for (usize i = 0; i < saved.size(); ++i) values_[loop.body[i]] = saved[i];
  values_[slot] = {total, valid, true};
}

void GraphProgram::run_node(u32 slot) {
  if (loop_of_[slot] >= 0) return run_loop(loops_[static_cast<usize>(loop_of_[slot])], slot);
  UOp uop = nodes_[slot];
  switch (uop.op()) {
    case Op::Const:
    case Op::Param:
    case Op::Index:
    case Op::Sink:
    case Op::Group:
    case Op::After: return;
    case Op::Range:
    case Op::Variable:
    case Op::Special: CHECK(values_[slot].bound, "{} has no value", name_of(uop.op())); return;
    case Op::Load: return load(slot);
    case Op::Store: return store(slot);
    case Op::Reduce: values_[slot] = values_[slot_of(uop.src(0))]; return;
    default: break;
  }
  CHECK(is_elementwise(uop.op()), "{} is not for evaluation", name_of(uop.op()));
  CHECK(uop.dtype().lanes == 1, "vectors are not for evaluation");
  std::array<ScalarValue, 3> args;
  bool valid = true;
  for (usize i = 0; i < uop.nsrc(); ++i) {
    const Slot& arg = values_[slot_of(uop.src(i))];
    args[i] = arg.value;
    valid = valid && arg.valid;
  }
  if (uop.is(Op::Where)) {  // the branch not taken may have no value
    const Slot& condition = values_[slot_of(uop.src(0))];
    valid = condition.valid && values_[slot_of(uop.src(args[0].as_bool() ? 1 : 2))].valid;
  }
  std::optional<ScalarValue> value;
  if (valid) value = eval(uop.op(), uop.dtype(), std::span(args).first(uop.nsrc()));
  values_[slot] = {value.value_or(ScalarValue{}), value.has_value(), true};
}

bool GraphProgram::gate_open(UOp index) const {
  return index.nsrc() < 3 || values_[slot_of(index.src(2))].value.as_bool();
}

std::byte* GraphProgram::element(UOp index) const {
  UOp param = memory_of(index);
  CHECK(static_cast<usize>(param.arg(0)) < memory_.size() &&
            memory_[static_cast<usize>(param.arg(0))].data,
        "param {} has no memory", param.arg(0));
  const Memory& memory = memory_[static_cast<usize>(param.arg(0))];
  const Slot& at = values_[slot_of(index.src(1))];
  i64 count =
      param.narg() > 1 && param.arg(1) > 0 ? std::min(param.arg(1), memory.count) : memory.count;
  CHECK(at.valid, "the index into param {} overflowed", param.arg(0));
  CHECK(at.value.as_int() >= 0 && at.value.as_int() < count,
        "index {} into param {} of {} elements", at.value.as_int(), param.arg(0), count);
  return memory.data + at.value.as_int() * param.dtype().element().bytes();
}

void GraphProgram::load(u32 slot) {
  UOp uop = nodes_[slot], index = uop.src(0);
  CHECK(index.is(Op::Index), "load of {}", name_of(index.op()));
  if (gate_open(index)) {
    values_[slot] = {load_scalar(uop.dtype(), element(index)), true, true};
  } else {
    CHECK(uop.nsrc() > 1, "a gated load without a value for where it is masked");
    values_[slot] = values_[slot_of(uop.src(1))];
  }
}

void GraphProgram::store(u32 slot) {
  UOp uop = nodes_[slot], index = uop.src(0);
  CHECK(index.is(Op::Index), "store to {}", name_of(index.op()));
  if (!gate_open(index)) return;
  const Slot& value = values_[slot_of(uop.src(1))];
  CHECK(value.valid, "the stored value overflowed");
  CHECK_EQ(static_cast<int>(value.value.scalar), static_cast<int>(memory_of(index).dtype().scalar));
  store_scalar(value.value, element(index));
}

std::optional<ScalarValue> evaluate(UOp root, std::span<const std::pair<UOp, ScalarValue>> leaves) {
  GraphProgram program(root);
  for (const auto& [leaf, value] : leaves) program.set(leaf, value);
  program.run();
  return program.value(root);
}

}  // namespace doorbell::core
