// A program counter over the list, a value of lanes per node, arrays for private memory.
#include "tests/codegen/support/run_linear.h"

#include <absl/container/flat_hash_map.h>

#include "base/util/check.h"
#include "core/eval/eval.h"

namespace doorbell::codegen {

using core::Op;
using core::ScalarValue;
using core::UOp;
using Value = std::vector<ScalarValue>;

namespace {

class Machine {
 public:
  Machine(const LinearProgram& program, std::span<void* const> params,
          std::span<const i64> variables, i64 thread)
      : program_(program), params_(params), variables_(variables), thread_(thread) {}
  void run();

 private:
  const Value& of(UOp u) { return values_[u.node()]; }
  static UOp memory_of(UOp u) {
    while (u.is(Op::After)) u = u.src(0);
    return u;
  }
  i64 find_end(usize at) const;
  void step(UOp u);
  Value load(UOp u);
  void store(UOp u);
  Value elementwise(UOp u);
  ScalarValue read(UOp memory, core::DType t, i64 element);
  void write(UOp memory, core::DType t, i64 element, ScalarValue value);

  const LinearProgram& program_;
  std::span<void* const> params_;
  std::span<const i64> variables_;
  i64 thread_;
  absl::flat_hash_map<const core::Node*, Value> values_;  // also registers and private arrays
};

ScalarValue Machine::read(UOp memory, core::DType t, i64 element) {
  if (memory.is(Op::Param)) {
    CHECK(element >= 0 && element < memory.arg(1), "element {} of {}", element, memory.arg(1));
    auto* base = static_cast<const char*>(params_[static_cast<usize>(memory.arg(0))]);
    return core::load_scalar(t, base + element * t.element().bytes());
  }
  Value& array = values_[memory.node()];
  CHECK(element >= 0 && element < static_cast<i64>(array.size()), "element {} of {}", element,
        array.size());
  return array[static_cast<usize>(element)];
}

void Machine::write(UOp memory, core::DType t, i64 element, ScalarValue value) {
  if (memory.is(Op::Param)) {
    CHECK(element >= 0 && element < memory.arg(1), "element {} of {}", element, memory.arg(1));
    auto* base = static_cast<char*>(params_[static_cast<usize>(memory.arg(0))]);
    core::store_scalar(value, base + element * t.element().bytes());
    return;
  }
  Value& array = values_[memory.node()];
  CHECK(element >= 0 && element < static_cast<i64>(array.size()), "element {} of {}", element,
        array.size());
  array[static_cast<usize>(element)] = value;
}

Value Machine::load(UOp u) {
  if (!u.src(0).is(Op::Index)) return of(memory_of(u.src(0)));
  UOp place = u.src(0), memory = memory_of(place.src(0));
  i64 base = of(place.src(1))[0].as_int();
  Value result;
  for (u16 lane = 0; lane < u.dtype().lanes; ++lane) {
    bool on = true;
    if (place.nsrc() > 2) {
      const Value& gate = of(place.src(2));
      on = gate[gate.size() == 1 ? 0 : lane].as_bool();
    }
    result.push_back(on ? read(memory, u.dtype(), base + lane) : of(u.src(1))[lane]);
  }
  return result;
}

void Machine::store(UOp u) {
  Value value = of(u.src(1));
  if (!u.src(0).is(Op::Index)) {
    values_[memory_of(u.src(0)).node()] = value;
    return;
  }
  UOp place = u.src(0), memory = memory_of(place.src(0));
  i64 base = of(place.src(1))[0].as_int();
  for (usize lane = 0; lane < value.size(); ++lane) {
    if (place.nsrc() > 2) {
      const Value& gate = of(place.src(2));
      if (!gate[gate.size() == 1 ? 0 : lane].as_bool()) continue;
    }
    write(memory, u.src(1).dtype(), base + static_cast<i64>(lane), value[lane]);
  }
}

Value Machine::elementwise(UOp u) {
  Value result;
  for (u16 lane = 0; lane < u.dtype().lanes; ++lane) {
    std::vector<ScalarValue> args;
    for (UOp s : u.srcs()) {
      CHECK_EQ(s.dtype().lanes, u.dtype().lanes);
      args.push_back(of(s)[lane]);
    }
    result.push_back(*core::eval(u.op(), u.dtype(), args));
  }
  return result;
}

void Machine::step(UOp u) {
  CHECK(!u.dtype().is_index(), "{} of dtype index in a linear program", core::name_of(u.op()));
  Value& out = values_[u.node()];
  switch (u.op()) {
    case Op::Const: out = {{u.dtype().scalar, u.arg(0)}}; return;
    case Op::Special: out = {ScalarValue::of_int(u.dtype(), thread_)}; return;
    case Op::Variable: {
      for (usize i = 0; i < program_.variables.size(); ++i) {
        if (program_.variables[i] == u.arg(0)) {
          out = {ScalarValue::of_int(u.dtype(), variables_[i])};
          return;
        }
      }
      CHECK(false, "unbound variable");
      return;
    }
    case Op::DefinePrivate: out.assign(static_cast<usize>(u.arg(1)), {u.dtype().scalar, 0}); return;
    case Op::Load: { Value v = load(u); values_[u.node()] = std::move(v); return; }
    case Op::Store: store(u); return;
    case Op::Splat: { Value v(u.dtype().lanes, of(u.src(0))[0]); values_[u.node()] = v; return; }
    case Op::Ramp: case Op::Vec: case Op::Lane: {
      Value v;
      for (i64 i = 0; i < u.dtype().lanes; ++i) {
        if (u.is(Op::Vec)) v.push_back(of(u.src(static_cast<usize>(i)))[0]);
        else if (u.is(Op::Lane)) v.push_back(of(u.src(0))[static_cast<usize>(u.arg(0) + i)]);
        else v.push_back(ScalarValue::of_int(u.dtype(), of(u.src(0))[0].as_int() + i * u.arg(0)));
      }
      values_[u.node()] = std::move(v);
      return;
    }
    case Op::Param: case Op::DefineReg: case Op::Index: case Op::After: case Op::Group: return;
    default: { Value v = elementwise(u); values_[u.node()] = std::move(v); }
  }
}

i64 Machine::find_end(usize at) const {
  for (usize i = at; i < program_.ops.size(); ++i) {
    if (program_.ops[i].is(Op::End) && program_.ops[i].src(1) == program_.ops[at]) {
      return static_cast<i64>(i);
    }
  }
  CHECK(false, "a loop without End");
  return -1;
}

void Machine::run() {
  struct Loop {
    UOp range;
    usize body;
  };
  std::vector<Loop> loops;
  for (usize pc = 0; pc < program_.ops.size(); ++pc) {
    UOp u = program_.ops[pc];
    if (u.is(Op::Range)) {
      if (of(u.src(0))[0].as_int() <= 0) {
        pc = static_cast<usize>(find_end(pc));
        continue;
      }
      values_[u.node()] = {ScalarValue::of_int(u.dtype(), 0)};
      loops.push_back({u, pc});
    } else if (u.is(Op::End)) {
      CHECK(!loops.empty() && loops.back().range == u.src(1), "loops are not nested");
      i64 next = of(u.src(1))[0].as_int() + 1;
      if (next < of(u.src(1).src(0))[0].as_int()) {
        values_[u.src(1).node()] = {ScalarValue::of_int(u.src(1).dtype(), next)};
        pc = loops.back().body;
      } else {
        loops.pop_back();
      }
    } else {
      step(u);
    }
  }
  CHECK(loops.empty(), "a loop is not closed");
}

}  // namespace

void run_linear(const LinearProgram& program, std::span<void* const> params,
                std::span<const i64> variables) {
  for (i64 t = 0; t < program.threads; ++t) Machine(program, params, variables, t).run();
}

}  // namespace doorbell::codegen
