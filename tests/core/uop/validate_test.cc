// One broken node for each rule, and a kernel that passes.
#include "core/uop/validate.h"

#include <gtest/gtest.h>

#include "core/uop/print.h"

namespace doorbell::core {
namespace {

std::string last_node(const char* text, Stage stage) {
  Arena a;
  Result<UOp> root = parse(a, text);
  EXPECT_TRUE(root.has_value()) << text;
  return root.has_value() ? invalid(*root, stage) : "unparsed";
}

TEST(Validate, NamesWhatIsWrong) {
  const char* f = "%0 = Const:f32 1\n%1 = Const:i32 2\n";
  auto with = [&](const char* line) {
    return last_node((std::string(f) + line).c_str(), Stage::Kernel);
  };
  EXPECT_EQ(with("%2 = Add:f32(%0, %1)\n"), "operands f32 and i32");
  EXPECT_EQ(with("%2 = Neg:f64(%0)\n"), "f32 for f64");
  EXPECT_EQ(with("%2 = CmpLt:f32(%0, %0)\n"), "a comparison of f32");
  EXPECT_EQ(with("%2 = Where:f32(%0, %0, %0)\n"), "a condition of f32");
  EXPECT_EQ(with("%2 = Bitcast:f64(%0)\n"), "bits of f32 as f64");
  EXPECT_EQ(with("%2 = Reshape:f32(%0) {1}\n"), "not an op of this stage");
  EXPECT_EQ(with("%2 = Splat:f32x4(%0)\n"), "not an op of this stage");
  EXPECT_EQ(with("%2 = Sink:void(%0)\n"), "Const is no effect");
}

TEST(Validate, ChecksSeveralDevices) {
  const char* f = "%0 = Buffer:f32 {1, 0, 0, 4}\n%1 = Buffer:i32 {2, 0, 1, 4}\n";
  auto with = [&](const char* line) {
    return last_node((std::string(f) + line).c_str(), Stage::Tensor);
  };
  EXPECT_EQ(with("%2 = Multi:f32(%0, %0) {-1}\n"), "");
  EXPECT_EQ(with("%2 = Shard:f32(%0) {0, 0, 1}\n"), "");
  EXPECT_EQ(with("%2 = Multi:f32(%0) {0}\n"), "1 devices, expected several");
  EXPECT_EQ(with("%2 = Multi:f32(%0, %1) {0}\n"), "i32 in a value of f32");
  EXPECT_EQ(with("%2 = Neg:f32(%0)\n%3 = Multi:f32(%0, %2) {0}\n"), "a part is Neg");
  EXPECT_EQ(with("%2 = Multi:f32(%0, %0) {-2}\n"), "no layout");
  EXPECT_EQ(with("%2 = Shard:f32(%0) {0, 3}\n"), "1 devices, expected several");
}

TEST(Validate, ChecksAccesses) {
  const char* f = "%0 = Param:f32 {0, 8}\n%1 = Const:index 2\n";
  auto with = [&](const char* line, Stage s) {
    return last_node((std::string(f) + line).c_str(), s);
  };
  EXPECT_EQ(with("%2 = Index:f32(%0, %1)\n", Stage::Kernel), "");
  EXPECT_EQ(with("%2 = Index:f32(%1, %1)\n", Stage::Kernel), "memory is Const");
  EXPECT_EQ(with("%2 = Index:f32(%0, %1)\n", Stage::Lowered), "an index of index");
  EXPECT_EQ(with("%2 = Index:f32(%0, %1)\n%3 = Load:i32(%2)\n", Stage::Kernel),
            "i32 at memory of f32");
  EXPECT_EQ(with("%2 = CmpLt:bool(%1, %1)\n%3 = Index:f32(%0, %1, %2)\n%4 = Load:f32(%3)\n",
                 Stage::Kernel),
            "a gate without the value of masked lanes");
}

TEST(Validate, ChecksLanes) {
  const char* f = "%0 = Const:f32 1\n%1 = Splat:f32x4(%0)\n";
  auto with = [&](const char* line) {
    return last_node((std::string(f) + line).c_str(), Stage::Expanded);
  };
  EXPECT_EQ(with("%2 = Lane:f32(%1) {3}\n"), "");
  EXPECT_EQ(with("%2 = Lane:f32x2(%1) {3}\n"), "no such lane");
  EXPECT_EQ(with("%2 = Neg:f32(%1)\n"), "a source of f32x4 for f32");
  EXPECT_EQ(with("%2 = Vec:f32x4(%0, %0)\n"), "not one source a lane");
}

}  // namespace
}  // namespace doorbell::core
