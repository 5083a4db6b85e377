// A program counter over the list, a value of lanes per node, arrays for private memory. Work items
// of a group run one after another from barrier to barrier; what they share is SharedMemory's,
// which finds races: hardware would run them in any order.
#include "tests/codegen/support/run_linear.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "base/util/check.h"
#include "codegen/linear/combined_load.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/tensor_core.h"
#include "core/eval/eval.h"
#include "core/eval/interpret.h"
#include "tests/codegen/support/shared_memory.h"
#include "tests/codegen/support/tensor_copies.h"
#include "tests/codegen/support/wave_loads.h"

namespace doorbell::codegen {

using core::Op;
using core::ScalarValue;
using core::UOp;
using Value = absl::InlinedVector<ScalarValue, 2>;

namespace {

constexpr i64 kWarp = 32;

// By node id: the node's position in the program.
using Slots = std::vector<u32>;

// Which part of a program a Machine runs: a host thread's, or a work item's.
struct Place {
  i64 thread = 0, group[3] = {0, 0, 0}, local[3] = {0, 0, 0};
  i64 item = 0, item_of_grid = 0;
};

class Machine {
 public:
  Machine(const LinearProgram& program, std::span<void* const> params,
          std::span<const i64> variables, const Slots& slots, const Place& place,
          SharedMemory& shared, TensorCopies& copies)
      : program_(program),
        params_(params),
        variables_(variables),
        place_(place),
        shared_(shared),
        copies_(copies),
        slots_(slots),
        values_(program.ops.size()) {}
  // To the next barrier, tensor core, load of matrices or wait for tensor cores, which it returns,
  // or to the end: null.
  UOp run();
  const Value& value(UOp u) { return slot(u); }
  Value load(UOp u);
  void set(UOp u, Value value) { slot(u) = std::move(value); }

 private:
  struct Loop {
    UOp range;
    usize body;
  };
  Value& slot(UOp u) { return values_[slots_[u.id()]]; }
  const Value& of(UOp u) { return slot(u); }
  static UOp memory_of(UOp u) {
    while (u.is(Op::After)) u = u.src(0);
    return u;
  }
  i64 find_end(usize at) const;
  void step(UOp u);
  void store(UOp u);
  void copy_box(UOp u);
  ScalarValue element_of(const core::TensorMap& map, UOp copy, i64 number);
  Value elementwise(UOp u);
  ScalarValue read(UOp memory, core::DType t, i64 element);
  void write(UOp memory, core::DType t, i64 element, ScalarValue value);

  const LinearProgram& program_;
  std::span<void* const> params_;
  std::span<const i64> variables_;
  Place place_;
  SharedMemory& shared_;
  TensorCopies& copies_;
  usize pc_ = 0;
  std::vector<Loop> loops_;
  const Slots& slots_;
  std::vector<Value> values_;  // also registers and private arrays
};

ScalarValue Machine::read(UOp memory, core::DType t, i64 element) {
  if (memory.is(Op::Param)) {
    CHECK(element >= 0 && element < memory.arg(1), "element {} of {}", element, memory.arg(1));
    auto* base = static_cast<const char*>(params_[static_cast<usize>(memory.arg(0))]);
    return core::load_scalar(t, base + element * t.element().bytes());
  }
  if (memory.is(Op::DefineLocal)) return shared_.at(memory, element, place_.item, false);
  Value& array = slot(memory);
  CHECK(element >= 0 && element < static_cast<i64>(array.size()), "element {} of {}", element,
        array.size());
  return array[static_cast<usize>(element)];
}

void Machine::write(UOp memory, core::DType t, i64 element, ScalarValue value) {
  if (memory.is(Op::Param)) {
    CHECK(element >= 0 && element < memory.arg(1), "element {} of {}", element, memory.arg(1));
    auto* base = static_cast<char*>(params_[static_cast<usize>(memory.arg(0))]);
    core::store_scalar(value, base + element * t.element().bytes());
    shared_.stores(memory, element, place_.item_of_grid);
    return;
  }
  if (memory.is(Op::DefineLocal)) {
    shared_.at(memory, element, place_.item, true) = value;
    return;
  }
  Value& array = slot(memory);
  CHECK(element >= 0 && element < static_cast<i64>(array.size()), "element {} of {}", element,
        array.size());
  array[static_cast<usize>(element)] = value;
}

Value Machine::load(UOp u) {
  if (!u.src(0).is(Op::Index)) return of(memory_of(u.src(0)));
  UOp place = u.src(0), memory = memory_of(place.src(0));
  i64 base = of(place.src(1))[0].as_int();
  Value result;
  if (is_combined_load(u)) {
    ScalarValue all = read(memory, u.dtype(), base);
    for (i64 n = 1; n < combined_count(u); ++n) {
      const ScalarValue both[] = {all, read(memory, u.dtype(), base + n)};
      all = *core::eval(combined_by(u), u.dtype(), both);
    }
    return {all};
  }
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

// Element `number` of the box at the copy's coordinates; outside of the tensor it is zero.
ScalarValue Machine::element_of(const core::TensorMap& map, UOp copy, i64 number) {
  const core::DType t = copy.src(0).dtype();
  CHECK_EQ(t.bytes(), map.element_bytes);
  i64 place = map.offset;
  bool inside = true;
  for (usize d = 0; d < map.dimensions.size(); ++d) {
    const core::TensorMap::Dimension& dimension = map.dimensions[d];
    const i64 at = of(copy.src(d + 2))[0].as_int() + number % dimension.box;
    number /= dimension.box;
    inside = inside && at >= 0 && at < dimension.size;
    place += at * dimension.stride;
  }
  if (!inside) return {t.scalar, 0};
  const i64 bytes = program_.params[static_cast<usize>(map.slot)].count * map.element_bytes;
  CHECK(place >= 0 && place < bytes, "byte {} of {}", place, bytes);
  return core::load_scalar(t,
                           static_cast<const char*>(params_[static_cast<usize>(map.slot)]) + place);
}

// Until its phase is over the box has other values: zeros, or a NaN. A warp's first item copies.
void Machine::copy_box(UOp u) {
  const UOp place = u.src(0), memory = memory_of(place.src(0));
  if (place_.item % kWarp != 0 || !of(place.src(2))[0].as_bool()) return;
  const core::TensorMap map = tensor_map_of(u);
  CHECK_EQ(coordinates_of(u).size(), map.dimensions.size());
  const i64 first = of(place.src(1))[0].as_int();
  const i64 row = map.dimensions[0].box, unit = 16 / map.element_bytes;
  CHECK_EQ(row * map.element_bytes, 128);
  CHECK_EQ(first * map.element_bytes % 1024, 0);
  std::vector<TensorCopies::Element> elements;
  for (i64 i = 0; i < map.box_bytes() / map.element_bytes; ++i) {
    const i64 in_row = i % row, r = i / row;
    const i64 at = first + r * row + (in_row / unit ^ r % 8) * unit + in_row % unit;
    shared_.at(memory, at, place_.item, true) = {place.dtype().scalar, -1};
    elements.push_back({memory, at, place_.item, element_of(map, u, i)});
  }
  copies_.start(of(u.src(1).src(1))[0].as_int(), phase_bytes_of(u), map.box_bytes(),
                std::move(elements));
}

void Machine::store(UOp u) {
  if (is_tensor_copy(u)) return copy_box(u);
  if (is_phase_wait(u))
    return copies_.wait(of(u.src(0).src(1))[0].as_int(), of(u.src(1))[0].as_int(), shared_);
  Value value = of(u.src(1));
  if (!u.src(0).is(Op::Index)) {
    slot(memory_of(u.src(0))) = value;
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
    absl::InlinedVector<ScalarValue, 3> args;
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
  Value& out = slot(u);
  switch (u.op()) {
    case Op::Const: out = {{u.dtype().scalar, u.arg(0)}}; return;
    case Op::Special: {
      auto kind = static_cast<core::SpecialKind>(u.arg(0));
      usize axis = static_cast<usize>(u.arg(1));
      i64 number = kind == core::SpecialKind::ThreadId  ? place_.thread
                   : axis == kWaveAxis                  ? place_.item / kWarp
                   : kind == core::SpecialKind::GroupId ? place_.group[axis]
                                                        : place_.local[axis];
      CHECK(number < u.arg(2), "{} of {}", number, u.arg(2));
      out = {ScalarValue::of_int(u.dtype(), number)};
      return;
    }
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
    case Op::Load: {
      Value v = load(u);
      slot(u) = std::move(v);
      return;
    }
    case Op::Store: store(u); return;
    case Op::Splat: {
      Value v(u.dtype().lanes, of(u.src(0))[0]);
      slot(u) = v;
      return;
    }
    case Op::Ramp:
    case Op::Vec:
    case Op::Lane: {
      Value v;
      for (i64 i = 0; i < u.dtype().lanes; ++i) {
        if (u.is(Op::Vec))
          v.push_back(of(u.src(static_cast<usize>(i)))[0]);
        else if (u.is(Op::Lane))
          v.push_back(of(u.src(0))[static_cast<usize>(u.arg(0) + i)]);
        else
          v.push_back(ScalarValue::of_int(u.dtype(), of(u.src(0))[0].as_int() + i * u.arg(0)));
      }
      slot(u) = std::move(v);
      return;
    }
    case Op::Param:
    case Op::DefineReg:
    case Op::DefineLocal:
    case Op::Index:
    case Op::After:
    case Op::Group: return;
    default: {
      Value v = elementwise(u);
      slot(u) = std::move(v);
    }
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

UOp Machine::run() {
  while (pc_ < program_.ops.size()) {
    usize pc = pc_++;
    UOp u = program_.ops[pc];
    if (u.is(Op::Barrier) || u.is(Op::Wmma) || is_matrix_load(u) || is_transposing_load(u))
      return u;
    if (is_finished_load(u)) {
      step(u);
      return u;
    }
    if (u.is(Op::Range)) {
      if (of(u.src(0))[0].as_int() <= 0) {
        pc_ = static_cast<usize>(find_end(pc)) + 1;
        continue;
      }
      slot(u) = {ScalarValue::of_int(u.dtype(), 0)};
      loops_.push_back({u, pc + 1});
    } else if (u.is(Op::End)) {
      CHECK(!loops_.empty() && loops_.back().range == u.src(1), "loops are not nested");
      i64 next = of(u.src(1))[0].as_int() + 1;
      if (next < of(u.src(1).src(0))[0].as_int()) {
        slot(u.src(1)) = {ScalarValue::of_int(u.src(1).dtype(), next)};
        pc_ = loops_.back().body;
      } else {
        loops_.pop_back();
      }
    } else {
      step(u);
    }
  }
  CHECK(loops_.empty(), "a loop is not closed");
  return UOp();
}

// Calls f(x, y, z) for all numbers below the sizes.
void each_of(const i64 (&sizes)[3], auto&& f) {
  for (i64 z = 0; z < sizes[2]; ++z) {
    for (i64 y = 0; y < sizes[1]; ++y) {
      for (i64 x = 0; x < sizes[0]; ++x) f(x, y, z);
    }
  }
}

f64 number(const ScalarValue& v) {
  return v.is_float() ? v.as_float() : static_cast<f64>(v.as_int());
}

using Matrix = std::vector<std::vector<f64>>;
Matrix make_matrix(i64 rows, i64 columns) {
  return Matrix(static_cast<usize>(rows), std::vector<f64>(static_cast<usize>(columns)));
}

// The operand that begins at a place in local memory (LocalMatrix): rows of it by the depth.
Matrix read_matrix(Machine& item, SharedMemory& shared, UOp u, usize operand, i64 number_of_item) {
  const TensorCore& core = tensor_core(u.arg(0));
  UOp place = u.src(operand), memory = place.src(0);
  while (memory.is(Op::After)) memory = memory.src(0);
  const LocalMatrix layout = local_matrix(u, operand);
  const i64 start = item.value(place.src(1))[0].as_int(), bytes = core.operand_bytes();
  CHECK_EQ(start * bytes % 1024, 0);
  const i64 of_row = 128 / bytes, unit = 16 / bytes;
  Matrix made = make_matrix(operand == 0 ? core.rows : core.columns, core.depth);
  for (usize r = 0; r < made.size(); ++r) {
    for (usize d = 0; d < made[r].size(); ++d) {
      i64 row = static_cast<i64>(r), along = static_cast<i64>(d);
      if (layout.along_output) std::swap(row, along);
      const i64 in_row = along % of_row;
      const i64 at = start + along / of_row * layout.pitch + row * of_row +
                     (in_row / unit ^ row % 8) * unit + in_row % unit;
      made[r][d] = number(shared.read_later(memory, at, number_of_item));
    }
  }
  return made;
}

// What the items of each wave have, as matrices (codegen/tensor_core.h), multiplied and added.
void run_tensor_core(std::vector<Machine>& items, SharedMemory& shared, UOp u) {
  const TensorCore& core = tensor_core(u.arg(0));
  const usize wave = static_cast<usize>(core.items());
  CHECK(items.size() % wave == 0, "{} items in waves of {}", items.size(), wave);
  for (usize first = 0; first < items.size(); first += wave) {
    Matrix a = make_matrix(core.rows, core.depth), b = make_matrix(core.columns, core.depth);
    if (core.reads_local) {
      a = read_matrix(items[first], shared, u, 0, static_cast<i64>(first));
      b = read_matrix(items[first], shared, u, 1, static_cast<i64>(first));
    }
    for (usize l = 0; l < wave && !core.reads_local; ++l) {
      const Value &x = items[first + l].value(u.src(0)), &y = items[first + l].value(u.src(1));
      const i64 item = static_cast<i64>(l);
      for (i64 e = 0; e < core.operand_elements; ++e) {
        const auto element = static_cast<usize>(e);
        const auto row = static_cast<usize>(core.a_row.of(item, e));
        const auto column = static_cast<usize>(core.b_column.of(item, e));
        a[row][static_cast<usize>(core.a_depth.of(item, e))] = number(x[element]);
        b[column][static_cast<usize>(core.b_depth.of(item, e))] = number(y[element]);
      }
    }
    for (usize l = 0; l < wave; ++l) {
      const i64 item = static_cast<i64>(l);
      Value result = items[first + l].value(u.src(2));
      for (i64 e = 0; e < core.result_elements; ++e) {
        const auto row = static_cast<usize>(core.result_row.of(item, e));
        const auto column = static_cast<usize>(core.result_column.of(item, e));
        f64 sum = number(result[static_cast<usize>(e)]);
        for (usize k = 0; k < static_cast<usize>(core.depth); ++k) sum += a[row][k] * b[column][k];
        const core::DType made = u.dtype().element();
        result[static_cast<usize>(e)] = made.is_float()
                                            ? ScalarValue::of_float(made, sum)
                                            : ScalarValue::of_int(made, static_cast<i64>(sum));
      }
      items[first + l].set(u, std::move(result));
    }
  }
  if (!core.reads_local || batches_left(u) == kSameBatch) return;
  shared.end_batch();
  shared.finish(static_cast<usize>(batches_left(u)));
}

// A load of waves.
void run_wave_load(std::vector<Machine>& items, UOp u) {
  std::vector<Value> named;
  for (Machine& item : items) named.push_back(item.load(u));
  std::vector<Value> made =
      is_transposing_load(u)
          ? transposed_rows(named, u.dtype().element().bytes() == 1)
          : matrix_words(named, u.dtype().lanes / 4, (u.arg(0) & kMatrixTransposed) != 0);
  for (usize l = 0; l < items.size(); ++l) items[l].set(u, std::move(made[l]));
}

void run_group(std::vector<Machine>& items, SharedMemory& shared, TensorCopies& copies) {
  UOp barrier;
  do {
    barrier = items[0].run();
    for (usize i = 1; i < items.size(); ++i) {
      UOp other = items[i].run();
      CHECK(other == barrier, "work items wait at different barriers");
    }
    if (barrier && barrier.is(Op::Wmma))
      run_tensor_core(items, shared, barrier);
    else if (barrier && (is_matrix_load(barrier) || is_transposing_load(barrier)))
      run_wave_load(items, barrier);
    else if (barrier && is_finished_load(barrier))
      shared.finish(0);
    else
      shared.barrier();
  } while (barrier);
  shared.next_group();
  copies.next_group();
}

}  // namespace

void run_linear(const LinearProgram& program, std::span<void* const> params,
                std::span<const i64> variables) {
  Slots slots;
  for (usize i = 0; i < program.ops.size(); ++i) {
    u32 id = program.ops[i].id();
    if (slots.size() <= id) slots.resize(id + 1);
    slots[id] = static_cast<u32>(i);
  }
  SharedMemory shared;
  TensorCopies copies;
  Place place;
  for (place.thread = 0; place.thread < program.threads; ++place.thread) {
    each_of(program.grid_groups, [&](i64 gx, i64 gy, i64 gz) {
      std::vector<Machine> items;
      place.item = 0;
      each_of(program.group_items, [&](i64 x, i64 y, i64 z) {
        std::copy_n(std::array{gx, gy, gz}.data(), 3, place.group);
        std::copy_n(std::array{x, y, z}.data(), 3, place.local);
        items.emplace_back(program, params, variables, slots, place, shared, copies);
        ++place.item;
        ++place.item_of_grid;
      });
      run_group(items, shared, copies);
    });
  }
}

BothOutputs run_both(const core::KernelAst& ast, const LinearProgram& program,
                     std::span<const i64> counts, u32 seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<f32>> buffers;
  for (const i64 count : counts) {
    std::vector<f32>& buffer = buffers.emplace_back(static_cast<usize>(count));
    for (f32& value : buffer) value = static_cast<f32>(static_cast<int>(random() % 7) - 3);
  }
  std::vector<std::vector<f32>> expected = buffers;
  std::vector<void*> got_params, expected_params;
  for (auto& buffer : buffers) got_params.push_back(buffer.data());
  for (auto& buffer : expected) expected_params.push_back(buffer.data());
  core::interpret(ast, expected_params, {});
  run_linear(program, got_params);
  BothOutputs both;
  for (const auto& buffer : expected)
    both.expected.insert(both.expected.end(), buffer.begin(), buffer.end());
  for (const auto& buffer : buffers) both.got.insert(both.got.end(), buffer.begin(), buffer.end());
  return both;
}

}  // namespace doorbell::codegen
