// Kernels of the conformance suite: the PTX that the code generator writes, on the interpreter of
// PTX and as machine code, with the same random inputs. DOORBELL_SEED=S chooses other kernels and
// inputs, DOORBELL_WHOLE_TESTS=1 takes all.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>

#include "base/util/hash.h"
#include "base/util/try.h"
#include "codegen/compile/backend.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/compile/nvjitlink_compiler.h"
#include "conformance/run.h"
#include "core/device/registry.h"
#include "drivers/nv/hw/isa/chip.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "tensor/engine/kernel_compiler.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/emulator/nv/ptx/both.h"

namespace doorbell::ptx {
namespace {

using core::Scalar;

u64 seed() {
  const char* text = std::getenv("DOORBELL_SEED");
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 0);
}
bool takes_all() {
  const char* text = std::getenv("DOORBELL_WHOLE_TESTS");
  return text != nullptr && std::string_view(text) == "1";
}

const Format* format_of(core::DType dtype) {
  switch (dtype.scalar) {
    case Scalar::F16: return &kF16;
    case Scalar::BF16: return &kBf16;
    case Scalar::F32: return &kF32;
    case Scalar::F64: return &kF64;
    case Scalar::F8E4M3: return &kE4m3;
    case Scalar::F8E5M2: return &kE5m2;
    default: return nullptr;
  }
}

// ---- inputs

// What floats are: all kinds of them; ordinary ones; or small integers, of which sums and products
// are exact in any order.
enum class Floats : u8 { Any, Ordinary, Small };

u64 float_bits(std::mt19937_64& random, const Format& format, Floats kind) {
  const i64 step = static_cast<i64>(random() % 9) - 4;
  if (kind == Floats::Any && random() % 8 == 0) {
    const u64 sign = (random() & 1) != 0 ? format.sign() : 0;
    const u64 values[] = {
        0, 1, format.infinity(), format.nan(), format.largest(), random() & (format.sign() - 1)};
    return (values[random() % std::size(values)] & (format.sign() - 1)) | sign;
  }
  if (kind == Floats::Small) return encode(from_integer(step), format, Rounding::Nearest);
  const Number wide = from_integer(static_cast<i64>(random() >> 32) - (i64{1} << 31));
  return encode(divide(wide, from_integer(i64{1} << 29)), format, Rounding::Nearest);
}

std::vector<u8> values_of(std::mt19937_64& random, const codegen::ProgramParam& param,
                          Floats kind) {
  const usize size = static_cast<usize>(param.dtype.bytes());
  std::vector<u8> bytes(static_cast<usize>(param.count) * size);
  const Format* format = format_of(param.dtype);
  for (usize at = 0; at + size <= bytes.size(); at += size) {
    u64 value = random();
    if (format != nullptr) {
      value = float_bits(random, *format, kind);
    } else if (param.dtype.scalar == Scalar::Bool) {
      value &= 1;
    } else if (random() % 4 != 0) {
      value = random() % 64 - (param.dtype.scalar == Scalar::U8 ? 0 : 16);
    }
    std::memcpy(bytes.data() + at, &value, size);
  }
  return bytes;
}

// Between a variable's bounds.
i64 value_of_variable(std::mt19937_64& random, const codegen::LinearProgram& program, i64 name) {
  for (const core::UOp op : program.ops) {
    if (!op.is(core::Op::Variable) || op.arg(0) != name) continue;
    const u64 count = static_cast<u64>(op.arg(2) - op.arg(1)) + 1;
    return op.arg(1) + static_cast<i64>(random() % count);
  }
  return 1;
}

Work work_of(const codegen::LinearProgram& program, bool has_matrices) {
  std::mt19937_64 random(
      seed() ^ hash_bytes({reinterpret_cast<const u8*>(program.name.data()), program.name.size()}));
  const Floats kind = has_matrices ? Floats::Small : static_cast<Floats>(random() % 3);
  Work work;
  work.dynamic_shared = static_cast<u32>(program.dynamic_shared_bytes);
  for (usize axis = 0; axis < 3; ++axis) {
    work.grid[axis] = static_cast<u32>(program.grid_groups[axis]);
    work.block[axis] = static_cast<u32>(program.group_items[axis]);
  }
  for (const codegen::ProgramParam& param : program.params)
    work.buffers.push_back(values_of(random, param, kind));
  for (const i64 name : program.variables)
    work.variables.push_back(value_of_variable(random, program, name));
  return work;
}

// ---- a kernel, compared

struct Counts {
  usize compared = 0, too_long = 0, matrices = 0;
  std::string unknown;  // what the interpreter of PTX lacks
};

// The first element that differs; empty: none.
std::string difference(const codegen::ProgramParam& param, const std::vector<u8>& a,
                       const std::vector<u8>& b) {
  const usize size = static_cast<usize>(param.dtype.bytes());
  const Format* format = format_of(param.dtype);
  for (usize at = 0; at + size <= a.size(); at += size) {
    u64 x = 0, y = 0;
    std::memcpy(&x, a.data() + at, size);
    std::memcpy(&y, b.data() + at, size);
    if (x == y || (format != nullptr && same_float(x, y, *format))) continue;
    return fmt::format("element {} of {}: PTX {:#x}, machine code {:#x}", at / size,
                       param.dtype.str(), x, y);
  }
  return "";
}

// Compiles to PTX, and compares what it does.
class ComparingCompiler final : public codegen::Compiler {
 public:
  ComparingCompiler(std::unique_ptr<codegen::Compiler> to_ptx, std::string chip)
      : to_ptx_(std::move(to_ptx)), chip_(std::move(chip)) {}
  const std::string& key() const override { return to_ptx_->key(); }
  bool wants_source() const override { return false; }
  Result<std::string> disassemble(std::span<const u8> code) const override {
    return to_ptx_->disassemble(code);
  }

  Result<std::vector<u8>> compile(const codegen::LinearProgram& program,
                                  std::string_view source) const override {
    constexpr u64 kOneIn = 12;  // of the kernels of a sample
    TRY(std::vector<u8> ptx, to_ptx_->compile(program, source));
    std::lock_guard lock(mutex_);
    const u64 hash = hash_bytes(ptx) ^ seed();
    if (takes_all() || hash % kOneIn == 0)
      compare(program, with_roundings(std::string(ptx.begin(), ptx.end())));
    return ptx;
  }

  const Counts& counts() const { return counts_; }

 private:
  void compare(const codegen::LinearProgram& program, const std::string& text) const {
    constexpr usize kMostElements = usize{1} << 21;
    usize elements = 0;
    for (const codegen::ProgramParam& param : program.params)
      elements += static_cast<usize>(param.count);
    if (elements > kMostElements) {
      ++counts_.too_long;
      return;
    }
    const auto kernel = parse(text);
    if (!kernel) {
      counts_.unknown += program.name + ": " + kernel.error().message + "\n";
      return;
    }
    const bool has_matrices = text.find("mma.sync") != std::string::npos ||
                              text.find("wgmma.mma_async") != std::string::npos;
    Work work = work_of(program, has_matrices);
    work.most_instructions = takes_all() ? 20'000'000 : 1'500'000;
    const Done by_text = run_text(*kernel, work);
    if (by_text.too_long) {
      ++counts_.too_long;
      return;
    }
    const auto cubin = assemble(text, chip_);
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    const Done by_code = run_code(**cubin, work);
    EXPECT_EQ(by_text.fault, "") << program.name;
    EXPECT_EQ(by_code.fault, "") << program.name;
    for (usize i = 0; i < program.params.size(); ++i)
      EXPECT_EQ(difference(program.params[i], by_text.buffers[i], by_code.buffers[i]), "")
          << program.name << ", argument " << i;
    ++counts_.compared;
    counts_.matrices += has_matrices ? 1 : 0;
  }

  const std::unique_ptr<codegen::Compiler> to_ptx_;
  const std::string chip_;
  mutable std::mutex mutex_;  // guards counts_: kernels compile on several threads
  mutable Counts counts_;
};

// The engine's compiler for the life of a scope.
class ComparingKernels final : public engine::KernelCompiler {
 public:
  ComparingKernels(const codegen::Renderer& renderer, const codegen::Compiler& compiler)
      : before_(&engine::kernel_compiler()) {
    backend_.renderer = &renderer;
    backend_.compiler = &compiler;
    backend_.caps = renderer.caps();
    backend_.load = false;
    engine::set_kernel_compiler(this);
  }
  ~ComparingKernels() override { engine::set_kernel_compiler(before_); }

  Result<engine::CompiledKernel> compile(const core::KernelAst& kernel, core::Device&,
                                         bool) override {
    TRY(codegen::CompiledKernel made, codegen::compile_kernel(kernel, backend_));
    engine::CompiledKernel compiled;
    compiled.binary = std::move(made.binary);
    compiled.variables = std::move(made.variables);
    return compiled;
  }
  core::ScheduleOptions schedule_options(core::Device&) override {
    core::ScheduleOptions options;
    options.max_buffers = static_cast<u32>(backend_.caps.max_params);
    options.fuse_rows = true;
    return options;
  }

 private:
  engine::KernelCompiler* before_;
  codegen::Backend backend_;
};

TEST(PtxKernels, OfTheConformanceSuiteDoWhatTheirMachineCodeDoes) {
  if (!codegen::has_llvm()) GTEST_SKIP() << "this build has no LLVM";
  if (const std::string missing = missing_compiler(); !missing.empty()) GTEST_SKIP() << missing;
  // Any device that never runs: the suite then only plans and compiles.
  auto config = runtime::read_environment(runtime::process_environment());
  ASSERT_TRUE(config) << to_string(config.error());
  config->dev = "NULL";
  ASSERT_TRUE(runtime::initialize(*config));
  const auto device = core::Registry::instance().default_device();
  ASSERT_TRUE(device) << to_string(device.error());
  const auto target = conformance::Target::of(**device);
  ASSERT_TRUE(target) << to_string(target.error());

  const std::string chip = seed() % 2 == 0 ? "sm_86" : "sm_90";
  const codegen::testing::NvToolchain toolchain = codegen::testing::make_nv_toolchain("PTX", chip);
  const int ptx = *codegen::ptx_of_nvjitlink(codegen::testing::nv_folders());
  const nv::hw::Chip& row = *nv::hw::find_chip(chip);
  const ComparingCompiler compiler(
      codegen::make_llvm_compiler(
          {codegen::LlvmTarget::Family::Nv, std::string(row.architecture), std::min(row.ptx, ptx)}),
      chip);
  const ComparingKernels kernels(*toolchain.renderer, compiler);
  SCOPED_TRACE(fmt::format("{}, DOORBELL_SEED={}", chip, seed()));
  const conformance::Options options{.seed = seed(), .sample_one_in = takes_all() ? u64{0} : 40};
  const auto batches = conformance::choose(conformance::Suite::make(), options);
  ASSERT_TRUE(batches) << to_string(batches.error());
  const conformance::Report report = conformance::run(*batches, *target, options);
  for (const conformance::Failure& failure : report.failures)
    ADD_FAILURE() << failure.name << "\n" << failure.text;

  const Counts& counts = compiler.counts();
  fmt::print("{}: {} kernels compared, {} with matrix instructions; {} too long\n", chip,
             counts.compared, counts.matrices, counts.too_long);
  EXPECT_EQ(counts.unknown, "");
  EXPECT_GT(counts.compared, 5u);
}

}  // namespace
}  // namespace doorbell::ptx
