// The object loader on real objects, and on objects that are not what they should be.
#include "codegen/compile/load_object.h"

#include <gtest/gtest.h>

#include "base/util/check.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen {
namespace {

std::vector<u8> object_of(const std::string& source) {
  const auto& clang = testing::cpu_target("CLANG");
  LinearProgram program;
  program.name = "test";
  auto object = clang.compiler->compile(program, source);
  CHECK(object.has_value(), "{}", to_string(object.error()));
  return std::move(*object);
}

TEST(LoadObject, RefusesAMissingEntry) {
  auto loaded = load_object(object_of("int f(void) { return 1; }"), "g");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "the object has no function g");
}

TEST(LoadObject, RefusesCallsOutside) {
  auto loaded =
      load_object(object_of("int puts(const char*); int f(void) { puts(\"x\"); return 1; }"), "f");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().message, "the code calls puts, which kernels may not");
}

TEST(LoadObject, RefusesWritableData) {
  auto loaded = load_object(object_of("int count = 3; int f(void) { return count++; }"), "f");
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::Unsupported);
}

TEST(LoadObject, RefusesEveryPrefixOfAnObject) {
  std::vector<u8> object = object_of("int f(int x) { return x + 1; }");
  for (usize size = 0; size < object.size(); size += size < 200 ? 1 : 37) {
    EXPECT_FALSE(load_object(std::span(object).first(size), "f")) << size;
  }
  EXPECT_TRUE(load_object(object, "f"));
}

TEST(LoadObject, PlacesConstantsAndCallsBetweenFunctions) {
  auto loaded =
      load_object(object_of("static const int table[4] = {10, 20, 30, 40};\n"
                            "__attribute__((noinline)) int pick(int i) { return table[i & 3]; }\n"
                            "int f(int i) { return pick(i) + pick(i + 1); }"),
                  "f");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(reinterpret_cast<int (*)(int)>(loaded->entry)(1), 50);
}

TEST(LoadObject, ReachesTheMemoryFunctions) {
  auto loaded = load_object(
      object_of("void f(char* to, unsigned long n) { __builtin_memset(to, 7, n); }"), "f");
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  std::vector<char> bytes(1000, 0);
  reinterpret_cast<void (*)(char*, unsigned long)>(loaded->entry)(bytes.data(), 999);
  EXPECT_EQ(bytes[998], 7);
  EXPECT_EQ(bytes[999], 0);
}

TEST(LoadObject, CodeLivesAsLongAsItsOwner) {
  auto loaded = load_object(object_of("int f(void) { return 42; }"), "f");
  ASSERT_TRUE(loaded);
  core::LoadedCode copy = *loaded;
  *loaded = {};
  EXPECT_EQ(reinterpret_cast<int (*)()>(copy.entry)(), 42);
}

}  // namespace
}  // namespace doorbell::codegen
