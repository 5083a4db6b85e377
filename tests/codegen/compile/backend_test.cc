// compile_kernel from graph to running code, with and without the cache, and its failures.
#include "codegen/compile/backend.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/os/host.h"
#include "base/util/check.h"
#include "codegen/compile/kernel_identity.h"
#include "codegen/render/cpu_caps.h"
#include "codegen/render/opencl_renderer.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

// out[i] = in[i] * factor + n for i < count.
core::KernelAst make_kernel(f64 factor, i64 count = 40, const char* variable = "n") {
  core::KernelAst k;
  k.arena = std::make_unique<core::Arena>();
  core::Arena& a = *k.arena;
  i64 name = core::intern_name(variable);
  UOp out = a.make(Op::Param, dt::f32, {}, {0, count});
  UOp in = a.make(Op::Param, dt::f32, {}, {1, count});
  UOp i = a.range(0, core::AxisType::Loop, count);
  UOp x = a.make(Op::Load, dt::f32, {a.make(Op::Index, dt::f32, {in, i})});
  UOp n = a.make(Op::Variable, dt::index, {}, {name, 0, 100});
  UOp scaled = a.make(Op::Mul, dt::f32, {x, a.const_float(dt::f32, factor)});
  UOp sum = a.make(Op::Add, dt::f32, {scaled, a.make(Op::Cast, dt::f32, {n})});
  UOp at = a.make(Op::Index, dt::f32, {out, i});
  UOp store = a.make(Op::Store, dt::void_, {at, sum});
  k.sink = a.make(Op::Sink, dt::void_, {a.make(Op::End, dt::void_, {store, i})});
  k.param_count = 2;
  k.output_count = 1;
  k.variables = {name};
  return k;
}

class BackendTest : public ::testing::TestWithParam<std::string> {
 protected:
  BackendTest() {
    const testing::CpuTarget& target = testing::cpu_target(GetParam());
    backend_.renderer = target.renderer.get();
    backend_.compiler = target.compiler.get();
    backend_.caps = target.renderer->caps();
    char name[] = "/tmp/doorbell_backend_XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~BackendTest() override { (void)!std::system(("rm -rf " + folder_).c_str()); }

  static void check_runs(const CompiledKernel& k, f32 factor) {
    std::vector<f32> x(40), y(40, -1);
    for (usize i = 0; i < 40; ++i) x[i] = static_cast<f32>(i);
    void* args[] = {y.data(), x.data()};
    i64 n = 7;
    for (i64 t = 0; t < k.binary.threads; ++t) {
      reinterpret_cast<CpuKernel>(k.binary.code.entry)(args, &n, t);
    }
    for (usize i = 0; i < 40; ++i) EXPECT_EQ(y[i], static_cast<f32>(i) * factor + 7);
  }

  Backend backend_;
  std::string folder_;
};

TEST_P(BackendTest, CompilesAndRuns) {
  auto k = compile_kernel(make_kernel(3), backend_);
  ASSERT_TRUE(k) << to_string(k.error());
  check_runs(*k, 3);
  ASSERT_EQ(k->params.size(), 2u);
  EXPECT_TRUE(k->params[0].written);
  EXPECT_FALSE(k->params[1].written);
  EXPECT_EQ(k->variables, (std::vector<i64>{core::intern_name("n")}));
  EXPECT_TRUE(k->source.empty());
}

TEST_P(BackendTest, ShowsWhatIsAskedFor) {
  auto k = compile_kernel(make_kernel(3), backend_,
                          {.keep_source = true, .keep_linear = true, .keep_code = true});
  ASSERT_TRUE(k) << to_string(k.error());
  EXPECT_NE(k->source.find(k->binary.name), std::string::npos);
  EXPECT_NE(k->linear.find("Store"), std::string::npos);
  if (GetParam() == "LLVM") {
    EXPECT_NE(k->code.find("ret"), std::string::npos);
  }
}

TEST_P(BackendTest, FindsItsKernelsInTheCache) {
  {
    CompileCache cache(os::host_files(), folder_ + "/compile.db");
    backend_.cache = &cache;
    auto cold = compile_kernel(make_kernel(3), backend_);
    ASSERT_TRUE(cold) << to_string(cold.error());
    EXPECT_FALSE(cold->from_cache);
  }
  CompileCache cache(os::host_files(), folder_ + "/compile.db");
  backend_.cache = &cache;
  auto warm = compile_kernel(make_kernel(3), backend_);
  ASSERT_TRUE(warm) << to_string(warm.error());
  EXPECT_TRUE(warm->from_cache);
  check_runs(*warm, 3);
  auto other = compile_kernel(make_kernel(4), backend_);
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->from_cache);
  check_runs(*other, 4);
  backend_.caps.l1_bytes += 1;
  EXPECT_FALSE(compile_kernel(make_kernel(3), backend_)->from_cache);
  EXPECT_FALSE(
      compile_kernel(make_kernel(3), backend_, {.lower = {.optimise = false}})->from_cache);
}

TEST_P(BackendTest, LeavesTheImageToADeviceThatTakesIt) {
  CompileCache cache(os::host_files(), folder_ + "/compile.db");
  backend_.cache = &cache;
  ASSERT_TRUE(compile_kernel(make_kernel(3), backend_));
  backend_.load = false;
  auto image = compile_kernel(make_kernel(3), backend_);
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->from_cache);
  EXPECT_EQ(image->binary.code.entry, nullptr);
  ASSERT_GT(image->binary.image.size(), 4u);
  EXPECT_EQ(std::string(image->binary.image.begin() + 1, image->binary.image.begin() + 4), "ELF");
}

TEST_P(BackendTest, CompilesAnewWhatTheCacheHasButCannotBeLoaded) {
  std::string path = folder_ + "/compile.db";
  CompileCache cache(os::host_files(), path);
  backend_.cache = &cache;
  ASSERT_TRUE(compile_kernel(make_kernel(3), backend_));
  KernelBinary empty;
  empty.name = "kernel";
  std::vector<u8> entry = encode(empty);
  sqlite3* db = nullptr;
  sqlite3_stmt* update = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_prepare_v2(db, "UPDATE kernels SET entry = ?", -1, &update, nullptr),
            SQLITE_OK);
  sqlite3_bind_blob64(update, 1, entry.data(), entry.size(), SQLITE_STATIC);
  EXPECT_EQ(sqlite3_step(update), SQLITE_DONE);
  sqlite3_finalize(update);
  sqlite3_close(db);
  auto k = compile_kernel(make_kernel(3), backend_);
  ASSERT_TRUE(k) << to_string(k.error());
  EXPECT_FALSE(k->from_cache);
  check_runs(*k, 3);
}

TEST_P(BackendTest, CompilesOnSeveralThreadsAtOnce) {
  CompileCache cache(os::host_files(), folder_ + "/compile.db");
  backend_.cache = &cache;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 2; ++i) {
        auto k = compile_kernel(make_kernel(t / 2 + 2), backend_);
        ASSERT_TRUE(k) << to_string(k.error());
        check_runs(*k, static_cast<f32>(t / 2 + 2));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(BackendTest, RendersOnlyWithoutACompiler) {
  backend_.compiler = nullptr;
  auto k = compile_kernel(make_kernel(3), backend_);
  ASSERT_TRUE(k) << to_string(k.error());
  EXPECT_EQ(k->binary.code.entry, nullptr);
  EXPECT_NE(k->source.find(k->binary.name), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Targets, BackendTest, ::testing::ValuesIn(testing::cpu_targets()),
                         [](const auto& info) { return info.param; });

// Compiles nothing, and finds that groups may have a part of the items that they have, or `most`.
class ReluctantCompiler final : public Compiler {
 public:
  explicit ReluctantCompiler(i64 most, i64 part = 1) : most_(most), part_(part) {}
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const LinearProgram& program,
                                  std::string_view source) const override {
    items.push_back(program.group_items[0] * program.group_items[1] * program.group_items[2]);
    sources.emplace_back(source);
    return std::vector<u8>{1};
  }
  Result<i64> max_workgroup_size(const LinearProgram&, std::span<const u8>) const override {
    return std::min(most_, items.back() / part_);
  }
  Result<std::string> disassemble(std::span<const u8>) const override { return std::string(); }

  mutable std::vector<i64> items;
  mutable std::vector<std::string> sources;

 private:
  const std::string key_ = "reluctant";
  const i64 most_, part_;
};

Result<CompiledKernel> compile_reluctantly(const ReluctantCompiler& compiler) {
  OpenClTraits traits;
  traits.group_items = 256;
  for (i64& items : traits.group_axis) items = 256;
  const std::unique_ptr<Renderer> renderer = make_opencl_renderer(opencl_caps(traits));
  Backend backend;
  backend.renderer = renderer.get();
  backend.compiler = &compiler;
  backend.caps = renderer->caps();
  backend.load = false;
  return compile_kernel(make_kernel(3, 4096), backend);
}

// 4096 results, one to an item.
TEST(GroupSizes, ShrinkWhenTheCompilerFindsThemTooLarge) {
  const ReluctantCompiler compiler(24);
  const auto k = compile_reluctantly(compiler);
  ASSERT_TRUE(k) << to_string(k.error());
  EXPECT_EQ(compiler.items, (std::vector<i64>{256, 16}));
  EXPECT_EQ(k->binary.group_items[0], 16);
  EXPECT_EQ(k->binary.grid_groups[0], 256);
  EXPECT_NE(compiler.sources.back().find("reqd_work_group_size(16, 1, 1)"), std::string::npos);
}

TEST(GroupSizes, StayWhenTheyFit) {
  const ReluctantCompiler compiler(256);
  ASSERT_TRUE(compile_reluctantly(compiler));
  EXPECT_EQ(compiler.items, (std::vector<i64>{256}));
}

TEST(GroupSizes, AreTriedAFewTimes) {
  const ReluctantCompiler compiler(256, 2);
  ASSERT_TRUE(compile_reluctantly(compiler));
  EXPECT_EQ(compiler.items, (std::vector<i64>{256, 128, 64, 32}));
}

TEST(KernelIdentity, TellsKernelsApart) {
  std::string identity = kernel_identity(make_kernel(3));
  EXPECT_EQ(identity, kernel_identity(make_kernel(3)));
  EXPECT_NE(identity, kernel_identity(make_kernel(4)));
  EXPECT_NE(identity, kernel_identity(make_kernel(3, 41)));
  EXPECT_NE(identity, kernel_identity(make_kernel(3, 40, "m")));
}

TEST(ClangCompiler, ShowsTheCompilersWordsAndTheSource) {
  const testing::CpuTarget& clang = testing::cpu_target("CLANG");
  LinearProgram program;
  program.name = "broken";
  auto object = clang.compiler->compile(program, "int f(void) { return missing; }");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().kind, ErrorKind::Compile);
  for (const char* part : {"kernel broken", "undeclared identifier 'missing'", "int f(void)"}) {
    EXPECT_NE(object.error().message.find(part), std::string::npos) << object.error().message;
  }
}

}  // namespace
}  // namespace doorbell::codegen
