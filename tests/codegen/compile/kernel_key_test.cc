// Whatever decides the bytes of a kernel is in its key: every field of the structs, one by one.
#include "codegen/compile/kernel_key.h"

#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/render/cpu_caps.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen {
namespace {

core::KernelAst make_kernel(f64 value) {
  core::KernelAst kernel;
  kernel.arena = std::make_unique<core::Arena>();
  core::Arena& a = *kernel.arena;
  const core::DType f32 = core::dtypes::f32;
  const core::UOp out = a.make(core::Op::Param, f32, {}, {0, 8});
  const core::UOp i = a.range(0, core::AxisType::Loop, 8);
  const core::UOp at = a.make(core::Op::Index, f32, {out, i});
  const core::UOp number = a.const_float(f32, value);
  const core::UOp store = a.make(core::Op::Store, core::dtypes::void_, {at, number});
  kernel.sink = a.make(core::Op::Sink, core::dtypes::void_,
                       {a.make(core::Op::End, core::dtypes::void_, {store, i})});
  kernel.param_count = kernel.output_count = 1;
  return kernel;
}

// Calls `changed` with each field, item or bit at another value, one at a time.
template <class T>
void change_each(const std::string& name, T& field,
                 const std::function<void(std::string)>& changed) {
  if constexpr (std::is_array_v<T>) {
    for (usize i = 0; i < std::extent_v<T>; ++i)
      change_each(name + "[" + std::to_string(i) + "]", field[i], changed);
  } else if constexpr (requires { field.flip(0); }) {
    for (usize bit = 0; bit < field.size(); ++bit) {
      field.flip(bit);
      changed(name + " bit " + std::to_string(bit));
      field.flip(bit);
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    field = !field;
    changed(name);
    field = !field;
  } else if constexpr (std::is_integral_v<T>) {
    ++field;
    changed(name);
    --field;
  } else if constexpr (!std::is_pointer_v<T>) {
    T::fields(field, [&](std::string_view inner, auto& part) {
      change_each(name + "." + std::string(inner), part, changed);
    });
  }
}

class KernelKey : public ::testing::Test {
 protected:
  KernelKey() {
    const testing::CpuTarget& target = testing::cpu_target(testing::cpu_targets()[0]);
    backend_.renderer = target.renderer.get();
    backend_.compiler = target.compiler.get();
    backend_.caps = target.renderer->caps();
  }

  // False where the key was there before.
  bool insert(const core::KernelAst& kernel) {
    const CacheKey key = kernel_key(kernel, backend_, options_);
    return keys_.insert({key.words[0], key.words[1]}).second;
  }

  Backend backend_;
  LowerOptions options_;
  std::set<std::pair<u64, u64>> keys_;
};

TEST_F(KernelKey, DependsOnEachFieldOfCapsAndOptions) {
  const core::KernelAst kernel = make_kernel(1);
  ASSERT_TRUE(insert(kernel));
  usize count = 0;
  const auto expect_new = [&](const std::string& name) {
    EXPECT_TRUE(insert(kernel)) << name << " is not part of the key";
    ++count;
  };
  change_each("caps", backend_.caps, expect_new);
  change_each("options", options_, expect_new);
  EXPECT_GT(count, 100u);
  EXPECT_FALSE(insert(kernel)) << "a field was not put back";
}

// A kernel compiled for a target with private arrays was found for one without.
TEST_F(KernelKey, DependsOnPrivateArrays) {
  const core::KernelAst kernel = make_kernel(1);
  backend_.caps.private_arrays = true;
  ASSERT_TRUE(insert(kernel));
  backend_.caps.private_arrays = false;
  EXPECT_TRUE(insert(kernel));
}

TEST_F(KernelKey, DependsOnKernelRendererAndCompiler) {
  ASSERT_TRUE(insert(make_kernel(1)));
  EXPECT_FALSE(insert(make_kernel(1)));
  EXPECT_TRUE(insert(make_kernel(2)));
  for (const std::string& name : testing::cpu_targets()) {
    const testing::CpuTarget& target = testing::cpu_target(name);
    if (target.renderer.get() == backend_.renderer) continue;
    backend_.renderer = target.renderer.get();
    EXPECT_TRUE(insert(make_kernel(1))) << name;
    backend_.compiler = target.compiler.get();
    EXPECT_TRUE(insert(make_kernel(1))) << name;
  }
}

// Two structs never run together into one text.
TEST(KeyText, NamesEachField) {
  EXPECT_EQ(key_text(LowerOptions{}), "optimise=true;plan=none;aligned=true;");
  const Plan plan = *parse_plan("VECTOR(1,4) UPCAST(0,2)");
  EXPECT_EQ(key_text(LowerOptions{.plan = &plan}),
            "optimise=true;plan=[VECTOR(1,4) UPCAST(0,2)];aligned=true;");
  const std::string text = key_text(Caps{});
  for (const char* part : {"private_arrays=true;", "max_global=0 0 0 ;", "simd={waves=0;"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

}  // namespace
}  // namespace doorbell::codegen
