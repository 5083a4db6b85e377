// Private memory of a work item: more values than there are registers, and an array that the item
// indexes dynamically. The code generator makes neither on purpose, so the linear programs are
// written here: items in groups if the target has groups, otherwise a loop.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "conformance/inputs.h"
#include "core/uop/arena.h"
#include "runtime/compilers.h"

namespace doorbell::conformance {
namespace {

using core::Op;
using core::SpecialKind;
using core::UOp;
namespace dt = core::dtypes;

// A kernel with buffers in and out, one element of each per item.
class ItemKernel {
 public:
  ItemKernel(std::string name, i64 groups, i64 items, i64 inputs, const codegen::Caps& caps)
      : count_(groups * items), has_groups_(caps.has_local) {
    program.name = std::move(name);
    out_ = param(count_, true);
    in_ = param(count_ * inputs, false);
    if (has_groups_) {
      program.grid_groups[0] = groups;
      program.group_items[0] = items;
      UOp group = special(SpecialKind::GroupId, groups),
          item = special(SpecialKind::LocalId, items);
      item_ = binary(Op::Add, binary(Op::Mul, group, number(items)), item);
    } else {
      item_ = range(0, count_);
    }
  }

  codegen::LinearProgram program;

  i64 count() const { return count_; }
  UOp item() const { return item_; }
  // Element `row` of the item's private array.
  UOp input(i64 row) { return load(in_, binary(Op::Add, item_, number(row * count_))); }
  void finish(UOp value) {
    UOp stored = store(out_, item_, value);
    if (!has_groups_) op(Op::End, dt::void_, {stored, item_});
  }

  UOp op(Op o, core::DType t, std::initializer_list<UOp> srcs,
         std::initializer_list<i64> args = {}) {
    program.ops.push_back(arena_.make(o, t, srcs, args));
    return program.ops.back();
  }
  UOp binary(Op o, UOp x, UOp y) { return op(o, dt::i32, {x, y}); }
  UOp number(i64 value) {
    UOp made = arena_.const_int(dt::i32, value);
    if (numbers_.insert(value).second) program.ops.push_back(made);
    return made;
  }
  UOp range(i64 id, i64 size) {
    return op(Op::Range, dt::i32, {number(size)}, {id, static_cast<i64>(core::AxisType::Loop)});
  }
  UOp load(UOp memory, UOp at) {
    return op(Op::Load, dt::i32, {op(Op::Index, dt::i32, {memory, at})});
  }
  UOp store(UOp memory, UOp at, UOp value) {
    return op(Op::Store, dt::void_, {op(Op::Index, dt::i32, {memory, at}), value});
  }
  UOp barrier(UOp effect) { return has_groups_ ? op(Op::Barrier, dt::void_, {effect}) : effect; }

 private:
  UOp param(i64 count, bool written) {
    program.params.push_back({dt::i32, count, written});
    return op(Op::Param, dt::i32, {}, {static_cast<i64>(program.params.size()) - 1, count});
  }
  UOp special(SpecialKind kind, i64 extent) {
    return op(Op::Special, dt::i32, {}, {static_cast<i64>(kind), 0, extent});
  }

  core::Arena arena_;
  std::set<i64> numbers_;  // that are among the ops
  const i64 count_;
  const bool has_groups_;
  UOp out_, in_, item_;
};

template <class T>
T take(Result<T> result) {
  if (!result) throw std::move(result).error();
  return std::move(*result);
}
void take(Result<void> result) {
  if (!result) throw std::move(result).error();
}

// Compiles the kernel and, on a device that runs kernels, compares its results with the expected
// ones.
void run(Trial& trial, const ItemKernel& kernel, const std::vector<i32>& in,
         const std::vector<i32>& want) {
  core::Device& device = trial.device();
  const core::Binary binary = take(runtime::compile_linear(kernel.program, device));
  if (!trial.runs()) return;
  std::vector<i32> out(want.size());
  const i64 in_bytes = static_cast<i64>(in.size()) * 4, bytes = kernel.count() * 4;
  const std::unique_ptr<core::Program> program = take(device.load(binary));
  const core::Ref<core::Buffer> to = take(core::Buffer::allocate(device, bytes));
  const core::Ref<core::Buffer> from = take(core::Buffer::allocate(device, in_bytes));
  take(from->copy_in(in.data(), in_bytes));
  const core::BufferView views[] = {{to.get(), 0}, {from.get(), 0}};
  take(program->launch(views, {}));
  take(device.synchronize());
  take(to->copy_out(out.data(), bytes));
  for (usize n = 0; n < want.size(); ++n) {
    trial.require(out[n] == want[n],
                  fmt::format("item {} has {}, expected {}", n, out[n], want[n]));
    if (out[n] != want[n]) return;
  }
}

// Two chains over the same values: the second goes from the last value to the first and starts with
// the first chain's result. All values are live between the two. The groups are so large that an
// item has few registers.
void spilled_values(Trial& trial) {
  constexpr i64 kValues = 220;
  const codegen::Caps& caps = trial.target().caps;
  i64 items = 1024;
  for (i64 limit : {caps.max_local, caps.max_local_axis[0]})
    if (limit > 0) items = std::min(items, limit);
  ItemKernel kernel("spilled_values", 2, items, kValues, caps);
  const auto step_op = [](i64 i) { return i % 2 ? Op::Mul : Op::Add; };
  std::vector<UOp> values;
  for (i64 i = 0; i < kValues; ++i) values.push_back(kernel.input(i));
  UOp sum = values[0];
  for (i64 i = 1; i < kValues; ++i)
    sum = kernel.binary(step_op(i), sum, values[static_cast<usize>(i)]);
  for (i64 i = kValues; i-- > 0;)
    sum = kernel.binary(step_op(i + 1), sum, values[static_cast<usize>(i)]);
  kernel.finish(sum);

  std::vector<i32> in(static_cast<usize>(kernel.count() * kValues)), want;
  for (usize i = 0; i < in.size(); ++i) in[i] = static_cast<i32>(i * 7919 % 65521);
  for (i64 n = 0; n < kernel.count(); ++n) {
    const auto value = [&](i64 i) {
      return static_cast<u32>(in[static_cast<usize>(i * kernel.count() + n)]);
    };
    u32 total = value(0);
    for (i64 i = 1; i < kValues; ++i) total = i % 2 ? total * value(i) : total + value(i);
    for (i64 i = kValues; i-- > 0;) total = i % 2 ? total + value(i) : total * value(i);
    want.push_back(static_cast<i32>(total));
  }
  run(trial, kernel, in, want);
}

// out[n] = table[in[n]] for the table of item n: table[j] = n * 1000 + j. Items of several groups,
// each of several waves, with a barrier between writing and reading.
void private_array(Trial& trial) {
  constexpr i64 kEntries = 150;
  ItemKernel kernel("private_array", 5, 192, 1, trial.target().caps);
  UOp table = kernel.op(Op::DefinePrivate, dt::i32, {}, {0, kEntries});
  UOp first = kernel.binary(Op::Mul, kernel.item(), kernel.number(1000));
  UOp j = kernel.range(1, kEntries);
  UOp written = kernel.store(table, j, kernel.binary(Op::Add, first, j));
  UOp filled = kernel.barrier(kernel.op(Op::End, dt::void_, {written, j}));
  UOp after = kernel.op(Op::After, dt::i32, {table, filled});
  kernel.finish(kernel.load(after, kernel.input(0)));

  std::vector<i32> in, want;
  for (i64 n = 0; n < kernel.count(); ++n) {
    in.push_back(static_cast<i32>(n * 31 % kEntries));
    want.push_back(static_cast<i32>(n * 1000) + in.back());
  }
  run(trial, kernel, in, want);
}

}  // namespace

void add_scratch_cases(Suite& suite) {
  const Needs ints{.dtypes = {dtypes::i32}};
  suite.add_alone("kernel/spilled_values", ints, spilled_values);
  suite.add_alone("kernel/private_array", {.dtypes = {dtypes::i32}, .private_arrays = true},
                  private_array);
}

}  // namespace doorbell::conformance
