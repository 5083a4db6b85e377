// The conformance suite itself: its formats against literal bits, its comparisons, its choice of
// cases, and that what fails is reported with the way to see it again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "conformance/exceptions.h"
#include "conformance/run.h"
#include "core/device/registry.h"
#include "runtime/runtime.h"

namespace doorbell::conformance {
namespace {

constexpr Real kInf = std::numeric_limits<Real>::infinity();
constexpr Real kNan = std::numeric_limits<Real>::quiet_NaN();

TEST(Formats, LiteralBits) {
  struct {
    DType dtype;
    Real value;
    u64 bits;
  } const kCases[] = {
      {dtypes::f16, 1, 0x3c00},        {dtypes::f16, 65504, 0x7bff},
      {dtypes::f16, 0x1p-24L, 1},      {dtypes::bf16, -1.5L, 0xbfc0},
      {dtypes::f8e4m3, 448, 0x7e},     {dtypes::f8e4m3, 0.015625L, 0x08},
      {dtypes::f8e5m2, 57344, 0x7b},   {dtypes::f8e5m2, kInf, 0x7c},
      {dtypes::f8e4m3fnuz, 240, 0x7f}, {dtypes::f8e5m2fnuz, 57344, 0x7f},
      {dtypes::f32, 0.1f, 0x3dcccccd}, {dtypes::f64, -2, 0xc000000000000000},
      {dtypes::i8, -1, ~u64{0}},       {dtypes::u64, 18446744073709551615.0L, ~u64{0}},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(encode(c.dtype, c.value), c.bits) << c.dtype.str();
    EXPECT_EQ(decode(c.dtype, c.bits), c.value) << c.dtype.str();
  }
  EXPECT_TRUE(std::isnan(decode(dtypes::f8e4m3fnuz, 0x80)));
  EXPECT_TRUE(std::isnan(decode(dtypes::f8e4m3, 0xff)));
}

TEST(Formats, RoundingIsToEvenAndOverflowsAsStated) {
  EXPECT_EQ(round_to(dtypes::f16, 2049), 2048);
  EXPECT_EQ(round_to(dtypes::f16, 2051), 2052);
  EXPECT_EQ(round_to(dtypes::f16, 65520), kInf);
  EXPECT_EQ(round_to(dtypes::f16, 65519), 65504);
  EXPECT_EQ(round_to(dtypes::f8e4m3, 1e9L), 448);
  EXPECT_TRUE(std::isnan(round_to(dtypes::f8e5m2fnuz, kInf)));
  EXPECT_EQ(round_to(dtypes::i8, 200), -56);
  EXPECT_EQ(cast_value(dtypes::f32, dtypes::u8, -3.7L), 0);
  EXPECT_EQ(cast_value(dtypes::f32, dtypes::i8, 1e9L), 127);
  EXPECT_EQ(cast_value(dtypes::f32, dtypes::i32, kNan), 0);
}

Array floats(std::vector<Real> values) {
  return {dtypes::f32, {static_cast<i64>(values.size())}, std::move(values)};
}

TEST(Compare, CountsUlps) {
  const Real next = std::nextafter(1.0f, 2.0f);
  EXPECT_FALSE(compare(floats({1}), floats({1}), {}));
  EXPECT_TRUE(compare(floats({next}), floats({1}), {}));
  EXPECT_FALSE(compare(floats({next}), floats({1}), {.ulps = 1}));
  EXPECT_EQ(compare(floats({1, next}), floats({1, 1}), {})->element, 1u);
}

TEST(Compare, SpecialValues) {
  EXPECT_FALSE(compare(floats({kNan}), floats({kNan}), {}));
  EXPECT_TRUE(compare(floats({0}), floats({kNan}), {.ulps = 1e9}));
  EXPECT_TRUE(compare(floats({kNan}), floats({0}), {.ulps = 1e9}));
  EXPECT_TRUE(compare(floats({kInf}), floats({-kInf}), {.ulps = 1e9}));
  EXPECT_TRUE(compare(floats({kInf}), floats({1}), {.ulps = 1e9}));
  EXPECT_FALSE(compare(floats({0}), floats({-0.0L}), {}));
  EXPECT_TRUE(compare(floats({0}), floats({-0.0L}), {.zero_sign = true}));
}

TEST(Compare, ShapesAndDtypesCount) {
  EXPECT_TRUE(compare(floats({1}), floats({1, 1}), {}));
  Array other = floats({1});
  other.dtype = dtypes::f64;
  EXPECT_EQ(compare(other, floats({1}), {})->text,
            "got f64 of shape (1), expected f32 of shape (1)");
}

Target target() {
  EXPECT_TRUE(runtime::initialize());
  Result<core::Device*> device = core::Registry::instance().default_device();
  EXPECT_TRUE(device);
  Result<Target> opened = Target::of(**device);
  EXPECT_TRUE(opened);
  return *std::move(opened);
}

void passes(Trial& trial) {
  trial.expect("one", Tensor::ones({1}, trial.on(dtypes::f32)), floats({1}));
}

TEST(Run, CountsAndNamesWhatHappens) {
  Suite suite;
  Batch& batch = suite.add("group/a");
  batch.add("good", passes);
  batch.add("wrong", [](Trial& trial) {
    trial.expect("two", Tensor::ones({1}, trial.on(dtypes::f32)) * 3, floats({2}), {},
                 [](usize) { return "x = 1"; });
  });
  batch.add("throws", [](Trial&) { Tensor::ones({2}) + Tensor::ones({3}); });
  Target here = target();
  here.caps.dtypes.reset(static_cast<usize>(dtypes::f64.scalar));
  batch.add("lacking", {.dtypes = {dtypes::f64}}, [](Trial&) { FAIL() << "it was to be skipped"; });
  const Options options;
  const Report report = run(*choose(suite, options), here, options);
  EXPECT_EQ(report.passed, 1);
  EXPECT_EQ(report.skipped, 1);
  ASSERT_EQ(report.failed, 2);
  EXPECT_EQ(report.failures[0].name, "group/a/wrong");
  EXPECT_EQ(report.failures[0].filter, "^group/a/wrong$");
  EXPECT_NE(report.failures[0].text.find("two: element (0): got 3, expected 2"), std::string::npos);
  EXPECT_NE(report.failures[0].text.find("inputs: x = 1"), std::string::npos);
  EXPECT_NE(report.failures[1].text.find("cannot broadcast shapes (2) and (3)"), std::string::npos);
  EXPECT_EQ(last_line(report, here),
            "1 passed, 2 failed, 1 skipped: 1 the device declares no float64");
}

TEST(Run, WhatHasNoTimeIsCounted) {
  Suite suite;
  for (const char* name : {"group/a", "group/b", "group/c"}) {
    Batch& batch = suite.add(name);
    batch.add("first", passes);
    batch.add("second", passes);
  }
  Options options;
  options.seconds = 1e-9;
  const Target here = target();
  const Report report = run(*choose(suite, options), here, options);
  EXPECT_EQ(report.passed + report.not_run, 6);
  EXPECT_GE(report.not_run, 2);
  EXPECT_EQ(last_line(report, here), fmt::format("{} passed, 0 failed, 0 skipped, {} not run for "
                                                 "want of time",
                                                 report.passed, report.not_run));
  options.seconds = 1e6;
  EXPECT_EQ(run(*choose(suite, options), here, options).passed, 6);
}

TEST(Exceptions, AreSkippedWithTheirReasons) {
  Suite suite;
  Batch& batch = suite.add("group/a");
  batch.add("good", passes);
  batch.add("div", [](Trial&) { FAIL() << "it was to be skipped"; });
  batch.add("lacking", {.dtypes = {dtypes::f64}}, [](Trial&) { FAIL() << "so was this"; });
  const std::string_view text = "# one\n\n^group/a/(div|lacking)$ \t its LLVM crashes \n";
  const auto marked = except(&suite, text, "f");
  ASSERT_TRUE(marked) << marked.error().message;
  Target here = target();
  here.caps.dtypes.reset(static_cast<usize>(dtypes::f64.scalar));
  const Report report = run(*choose(suite, {}), here, {});
  EXPECT_EQ(last_line(report, here),
            "1 passed, 0 failed, 2 skipped: 1 its LLVM crashes; 1 the device declares no float64");
}

TEST(Exceptions, BadLinesAreNamed) {
  Suite suite;
  suite.add("group/a").add("div", passes);
  for (const auto& [text, message] : {
           std::pair{"/div$ crashes\n/mod$ crashes", "f:2: no case has '/mod$' in its name"},
           std::pair{"\n# a\n/div$", "f:3: no reason after '/div$'"},
           std::pair{"( crashes", "f:1: '(' is no regular expression"},
       }) {
    const auto marked = except(&suite, text, "f");
    ASSERT_FALSE(marked);
    EXPECT_EQ(marked.error().message.find(message), 0u) << marked.error().message;
  }
}

TEST(Choose, FilterAndSample) {
  Suite suite;
  for (const char* group : {"a", "b", "c"}) {
    for (int i = 0; i < 20; ++i) {
      Batch& batch = suite.add(std::string(group) + "/" + std::to_string(i));
      for (int j = 0; j < 30; ++j) batch.add(std::to_string(j), passes);
    }
  }
  const auto some = choose(suite, {.filter = "^b/1[0-4]/7$"});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->size(), 5u);
  EXPECT_EQ((*some)[0].cases.size(), 1u);
  EXPECT_FALSE(choose(suite, {.filter = "nothing"}));
  EXPECT_FALSE(choose(suite, {.filter = "("}));
  const auto names = [&](u64 seed) {
    std::set<std::string> found;
    const std::vector<Batch> chosen = *choose(suite, {.seed = seed, .sample_one_in = 6});
    for (const Batch& batch : chosen)
      for (const Case& one : batch.cases) found.insert(one.name);
    return found;
  };
  EXPECT_EQ(names(7), names(7));
  EXPECT_NE(names(7), names(8));
  std::set<char> groups;
  for (const std::string& name : names(7)) groups.insert(name[0]);
  EXPECT_EQ(groups.size(), 3u);
  EXPECT_LT(names(7).size(), 600u);
}

TEST(Suite, NamesAreUnique) {
  const Suite suite = Suite::make();
  std::set<std::string> names;
  for (const auto& batch : suite.batches())
    for (const Case& one : batch->cases) EXPECT_TRUE(names.insert(one.name).second) << one.name;
  EXPECT_GT(names.size(), 5000u);
}

// On the default device, so that the thread sanitizer sees what its queues do.
TEST(Suite, CasesThatStandAlonePass) {
  const Options options{.filter = "^(queue|memory|jit|devices)/"};
  const Suite suite = Suite::make();
  const Target here = target();
  const Report report = run(*choose(suite, options), here, options);
  EXPECT_GT(report.passed + report.skipped, 20);
  for (const Failure& failure : report.failures)
    ADD_FAILURE() << failure.name << "\n" << failure.text;
}

}  // namespace
}  // namespace doorbell::conformance
