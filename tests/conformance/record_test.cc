// Comparing what two runs' tensors held. The expected distances are counted by hand from the
// formats of IEEE 754.
#include "conformance/record.h"

#include <gtest/gtest.h>

#include "core/device/registry.h"
#include "runtime/runtime.h"

namespace doorbell::conformance {
namespace {

const std::string kRun = R"({"doorbell_record":1,"seed":7})";

std::string line(const std::string& name, const std::string& dtype, const std::string& shape,
                 const std::string& bytes, const std::string& approximate = "") {
  return R"({"case":")" + name + R"(","number":0,"what":"value","hash":"","dtype":")" + dtype +
         R"(","shape":)" + shape + R"(,"bytes":")" + bytes + R"(","approximate":")" + approximate +
         "\"}";
}

Record record(const std::vector<std::string>& lines, const std::string& run = kRun) {
  std::string text = run + '\n';
  for (const std::string& one : lines) text += one + '\n';
  Result<Record> parsed = parse_record(text, "file");
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(*parsed) : Record{};
}

TEST(Record, ADifferenceNamesTheFirstElementAndBothValues) {
  // 1, 1.5, 2 and 1, the float32 behind 1.5, 3.
  const Record one = record({line("a/b", "f32", "[3]",
                                  "0000803f"
                                  "0000c03f"
                                  "00000040")});
  const Record other = record({line("a/b", "f32", "[3]",
                                    "0000803f"
                                    "0100c03f"
                                    "00004040")});
  const auto compared = compare_records(one, other);
  ASSERT_TRUE(compared) << compared.error().message;
  ASSERT_EQ(compared->differences.size(), 1u);
  const RecordDifference& found = compared->differences[0];
  EXPECT_EQ(found.name, "a/b 0 value");
  EXPECT_EQ(found.first,
            "element (1): 1.5 (0x1.8p+0) (0x3fc00000) and 1.5000001192092896 (0x1.800002p+0) "
            "(0x3fc00001), 1 ulps");
  EXPECT_EQ(found.differ, 2);
  EXPECT_EQ(found.most_steps, u64{0x400000});
  EXPECT_EQ(compared->exact(), 1);
  EXPECT_EQ(compared->approximate(), 0);
}

TEST(Record, ApproximationsAndNanAreCountedApart) {
  // 1 and its neighbour of float16; a quiet NaN of either payload of float32.
  const Record one =
      record({line("exp", "f16", "[1]", "003c", "Exp2"), line("nan", "f32", "[]", "0000c07f"),
              line("same", "u8", "[1]", "05")});
  const Record other =
      record({line("exp", "f16", "[1]", "013c", "Exp2"), line("nan", "f32", "[]", "ffffff7f"),
              line("same", "u8", "[1]", "05")});
  const auto compared = compare_records(one, other);
  ASSERT_TRUE(compared) << compared.error().message;
  EXPECT_EQ(compared->compared(), 3);
  EXPECT_EQ(compared->exact(), 0);
  EXPECT_EQ(compared->approximate(), 1);
  EXPECT_EQ(compared->nan(), 1);
  EXPECT_EQ(compared->dtypes.at("f16").most_approximate_steps, 1u);
}

TEST(Record, ZerosOfBothSignsDiffer) {
  const auto compared = compare_records(record({line("zero", "f64", "[1]", "0000000000000000")}),
                                        record({line("zero", "f64", "[1]", "0000000000000080")}));
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->exact(), 1);
  EXPECT_EQ(compared->dtypes.at("f64").most_exact_steps, 0u);
}

TEST(Record, WhatOneLacksIsCounted) {
  const std::string both = line("both", "i32", "[1]", "01000000");
  const auto compared =
      compare_records(record({both, line("x", "u8", "[1]", "01")}),
                      record({both, line("y", "u8", "[1]", "01"), line("z", "u8", "[1]", "01")}));
  ASSERT_TRUE(compared);
  EXPECT_EQ(compared->compared(), 1);
  EXPECT_EQ(compared->only_first, 1);
  EXPECT_EQ(compared->only_second, 2);
  EXPECT_FALSE(compare_records(record({both}), record({})));
}

TEST(Record, DevicesOfOtherSizesAreNoted) {
  const std::string same = line("a", "u8", "[1]", "01");
  const std::string larger = R"({"doorbell_record":1,"seed":7,"busy_items":1024})";
  EXPECT_EQ(compare_records(record({same}), record({same}))->note, "");
  EXPECT_NE(compare_records(record({same}), record({same}, larger))->note.find("0 and 1024 work"),
            std::string::npos);
}

TEST(Record, OtherShapesAndLargeTensorsDifferAsAWhole) {
  const auto shapes = compare_records(record({line("a", "u8", "[2]", "0102")}),
                                      record({line("a", "u8", "[1, 2]", "0102")}));
  ASSERT_TRUE(shapes);
  EXPECT_EQ(shapes->differences.at(0).first, "u8 of shape (2) and u8 of shape (1, 2)");
  const auto hashed = [](const std::string& hash) {
    return R"({"case":"a","number":0,"what":"v","dtype":"u8","shape":[9],"hash":")" + hash + "\"}";
  };
  EXPECT_TRUE(compare_records(record({hashed("1")}), record({hashed("1")}))->differences.empty());
  EXPECT_EQ(compare_records(record({hashed("1")}), record({hashed("2")}))->exact(), 1);
}

TEST(Record, StepsCountTheNumbersBetween) {
  constexpr DType f32 = dtypes::f32, i8 = dtypes::i8;
  EXPECT_EQ(steps_between(f32, 0x3f800000, 0x3f800003), 3u);
  EXPECT_EQ(steps_between(f32, 0x80000001, 0x00000001), 2u);  // over both zeros, which are one
  EXPECT_EQ(steps_between(f32, 0x7f800000, 0x7f7fffff), 1u);  // infinity and the largest
  EXPECT_EQ(steps_between(i8, 0xff, 0x01), 2u);               // -1 and 1
}

TEST(Record, RefusesWhatIsNoRecord) {
  const auto refused = [](const std::string& text) {
    const Result<Record> parsed = parse_record(text, "file");
    return parsed ? std::string("taken") : parsed.error().message;
  };
  EXPECT_EQ(refused(""), "file is empty, expected a record");
  EXPECT_EQ(refused("{}\n"), "file:1: this is not a record's line");
  EXPECT_EQ(refused(kRun + "\n" + line("a", "u8", "[3]", "0102") + "\n"),
            "file:2: this is not a record's line");
  EXPECT_NE(refused(kRun + "\n{\"case\":\n").find("file:2: "), std::string::npos);
  const Record one = record({}), other = record({}, R"({"doorbell_record":1,"seed":8})");
  EXPECT_NE(compare_records(one, other).error().message.find("seeds 7 and 8"), std::string::npos);
}

TEST(Record, ATrialKeepsWhatItsTensorsHeld) {
  ASSERT_TRUE(runtime::initialize());
  Result<core::Device*> device = core::Registry::instance().open("CPU");
  ASSERT_TRUE(device);
  const Result<Target> target = Target::of(**device);
  ASSERT_TRUE(target);
  Trial::Inputs inputs;
  Trial trial(*target, 1, &inputs, true);
  const Array ones{dtypes::f32, {2}, {1, 4}};
  trial.expect("root", trial.tensor(ones).sqrt(), {dtypes::f32, {2}, {1, 2}});
  trial.check("double", trial.tensor(ones) * 2, {dtypes::f32, {2}, {2, 8}});
  trial.settle(trial.expectations().at(0));
  ASSERT_EQ(trial.held().size(), 2u);
  EXPECT_EQ(trial.held()[0].approximate, "");
  EXPECT_EQ(trial.held()[1].what, "root");
  EXPECT_EQ(trial.held()[1].approximate, "Sqrt");
  const Record read = record({record_line("case", 0, trial.held()[0])});
  EXPECT_EQ(read.tensors.at("case 0 double").bytes, trial.held()[0].bytes);
}

}  // namespace
}  // namespace doorbell::conformance
