// Memory, launches and comparisons.
#include "runtime/plan_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/util/check.h"
#include "base/util/hash.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "core/device/device.h"
#include "core/eval/float_format.h"
#include "tensor/engine/parallel_for.h"

namespace doorbell::runtime {
namespace {

using core::DType;
using core::Op;

constexpr f64 kEnough_ns = 50e3;  // a timed run repeats shorter kernels up to this
constexpr f64 kMostRepeats = 64;
constexpr i64 kMostChecked = i64{1} << 21;  // elements of each result
constexpr i64 kChunk = i64{1} << 16;        // elements that are filled at a time

f64 element(DType t, const u8* at) {
  u64 bits = 0;
  std::memcpy(&bits, at, static_cast<usize>(t.bytes()));
  return core::float_from_bits(t.scalar, bits);
}

// Floats from 0 to 1, so that sums do not cancel; all else is 0, which is a valid index.
std::vector<u8> fill_chunk(DType t, i64 count) {
  std::vector<u8> bytes(static_cast<usize>(count * t.bytes()), 0);
  if (!t.is_float()) return bytes;
  for (i64 i = 0; i < count; ++i) {
    const f64 value = static_cast<f64>(hash_mix(static_cast<u64>(i)) >> 40) / (1 << 24);
    const u64 bits = core::float_bits(t.scalar, core::round_to_format(t.scalar, value));
    std::memcpy(bytes.data() + i * t.bytes(), &bits, static_cast<usize>(t.bytes()));
  }
  return bytes;
}

Result<void> fill(core::Buffer& buffer, DType t) {
  const i64 count = buffer.bytes() / t.bytes();
  const std::vector<u8> chunk = fill_chunk(t, std::min(count, kChunk));
  for (i64 at = 0; at < count; at += kChunk) {
    const i64 bytes = std::min(kChunk, count - at) * t.bytes();
    TRY(buffer.copy_in(chunk.data(), bytes, at * t.bytes()));
  }
  return {};
}

// How far a result may be from another's whose sums are in another order, relative to the largest.
f64 tolerance_of(DType t) {
  if (t == core::dtypes::f64) return 1e-9;
  if (t == core::dtypes::f32) return 1e-4;
  return t.bytes() == 2 ? 2e-2 : 0.15;
}

bool is_close(DType t, const std::vector<u8>& a, const std::vector<u8>& b) {
  if (!t.is_float()) return a == b;
  const usize step = static_cast<usize>(t.bytes());
  f64 largest = 0;
  for (usize at = 0; at < a.size(); at += step) {
    const f64 value = std::fabs(element(t, a.data() + at));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  const f64 allowed = largest * tolerance_of(t);
  for (usize at = 0; at < a.size(); at += step) {
    const f64 x = element(t, a.data() + at), y = element(t, b.data() + at);
    const bool same = x == y || (std::isnan(x) && std::isnan(y));
    if (!same && !(std::fabs(x - y) <= allowed)) return false;
  }
  return true;
}

}  // namespace

Result<std::unique_ptr<DevicePlanBench>> DevicePlanBench::make(const core::KernelAst& kernel,
                                                               const codegen::KernelInfo& info,
                                                               core::Device& device,
                                                               const codegen::Backend& backend,
                                                               os::Clock& clock) {
  std::unique_ptr<DevicePlanBench> bench(new DevicePlanBench(kernel, device, backend, clock));
  TRY(bench->allocate(info));
  return bench;
}

Result<void> DevicePlanBench::allocate(const codegen::KernelInfo& info) {
  arguments_.resize(kernel_.param_count);
  std::vector<i64> counts(kernel_.param_count, 1);
  variables_.resize(kernel_.variables.size(), 1);
  for (core::UOp u : info.order) {
    if (u.is(Op::Param)) {
      const auto slot = static_cast<usize>(u.arg(0));
      arguments_[slot].dtype = u.dtype();
      if (u.narg() > 1) counts[slot] = std::max<i64>(1, u.arg(1));
    }
    // The largest value: arguments are as large as that needs.
    const auto name = std::ranges::find(kernel_.variables, u.is(Op::Variable) ? u.arg(0) : -1);
    if (u.is(Op::Variable) && name != kernel_.variables.end())
      variables_[static_cast<usize>(name - kernel_.variables.begin())] = u.arg(2);
  }
  for (usize slot = 0; slot < arguments_.size(); ++slot) {
    Argument& argument = arguments_[slot];
    TRY(argument.buffer, core::Buffer::allocate(device_, counts[slot] * argument.dtype.bytes()));
    TRY(fill(*argument.buffer, argument.dtype));
    if (slot < kernel_.output_count) argument.checked = std::min(counts[slot], kMostChecked);
  }
  return {};
}

Result<std::shared_ptr<core::Program>> DevicePlanBench::compile(const codegen::Plan& plan,
                                                                u64* code) {
  codegen::CompileOptions options{.lower = {.plan = &plan}, .keep_linear = true};
  TRY(codegen::CompiledKernel made, codegen::compile_kernel(kernel_, backend_, options));
  *code = hash_bytes(made.linear, static_cast<u64>(made.binary.threads));
  for (int axis = 0; axis < 3; ++axis) {
    *code = hash_combine(*code, static_cast<u64>(made.binary.grid_groups[axis]));
    *code = hash_combine(*code, static_cast<u64>(made.binary.group_items[axis]));
  }
  TRY(std::unique_ptr<core::Program> program, device_.load(made.binary));
  return std::shared_ptr<core::Program>(std::move(program));
}

std::vector<std::optional<codegen::BuiltPlan>> DevicePlanBench::build(
    std::span<const codegen::Plan> plans) {
  std::vector<std::optional<codegen::BuiltPlan>> built(plans.size());
  engine::parallel_for(plans.size(), engine::compile_threads(), [&](usize i) {
    codegen::BuiltPlan made;
    try {
      Result<std::shared_ptr<core::Program>> program = compile(plans[i], &made.code);
      if (!program) return;
      made.program = std::move(*program);
      built[i] = std::move(made);
    } catch (const InternalError&) {
      // A plan that cannot be applied: moves do not know all that a plan must keep to.
    }
  });
  for (usize i = 0; i < plans.size(); ++i) {
    if (!built[i]) continue;
    const Result<bool> right = check(*static_cast<core::Program*>(built[i]->program.get()));
    if (right && *right) continue;
    log().debug("plan {}: {}", codegen::print(plans[i]),
                right ? "its results are wrong" : right.error().message);
    built[i].reset();
  }
  return built;
}

Result<void> DevicePlanBench::launch(core::Program& program, int times) {
  std::vector<core::BufferView> views;
  for (const Argument& argument : arguments_) views.push_back({argument.buffer.get(), 0});
  for (int i = 0; i < times; ++i) TRY(program.launch(views, variables_));
  return device_.synchronize();
}

Result<bool> DevicePlanBench::check(core::Program& program) {
  for (const Argument& argument : arguments_)
    if (argument.checked > 0) TRY(fill(*argument.buffer, argument.dtype));
  TRY(launch(program, 1));
  bool right = true;
  for (Argument& argument : arguments_) {
    if (argument.checked == 0) continue;
    std::vector<u8> results(static_cast<usize>(argument.checked * argument.dtype.bytes()));
    TRY(argument.buffer->copy_out(results.data(), static_cast<i64>(results.size())));
    if (has_expected_)
      right = right && is_close(argument.dtype, argument.expected, results);
    else
      argument.expected = std::move(results);
  }
  has_expected_ = true;
  return right;
}

Result<f64> DevicePlanBench::run(const codegen::BuiltPlan& built) {
  core::Program& program = *static_cast<core::Program*>(built.program.get());
  while (true) {
    const int times = std::max(1, repeats_);
    const u64 begin_ns = clock_.now_ns();
    TRY(launch(program, times));
    const f64 each_ns = static_cast<f64>(clock_.now_ns() - begin_ns) / times;
    if (repeats_ > 0) return each_ns;
    repeats_ = static_cast<int>(std::clamp(kEnough_ns / std::max(each_ns, 1.0), 1.0, kMostRepeats));
  }
}

}  // namespace doorbell::runtime
