// Named checks: levels, counts, reports.
#include "emulator/core/checks.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace doorbell::emu {
namespace {

constexpr Check kFirst{"AMD-VM-001", "an access is mapped", "here"};
constexpr Check kSecond{"AMD-VM-002", "a write is allowed", "here"};
constexpr Check kOther{"AMD-CP-001", "a packet is known", "there"};
constexpr Check kSlow{"AMD-INI-001", "a value is defined", "there", Power::Full, Power::Full, true};
constexpr const Check* kAll[] = {&kFirst, &kSecond, &kOther, &kSlow};

TEST(Checks, TheLastThatFitsDecides) {
  Checks checks(Level::Warn);
  EXPECT_EQ(checks.level(kFirst), Level::Warn);
  ASSERT_TRUE(checks.configure("error,AMD-VM=off,AMD-VM-002=warn", kAll));
  EXPECT_EQ(checks.level(kOther), Level::Error);
  EXPECT_EQ(checks.level(kFirst), Level::Off);
  EXPECT_EQ(checks.level(kSecond), Level::Warn);
}

TEST(Checks, SlowOnesAreOffUntilTheyAreNamed) {
  Checks checks(Level::Error);
  EXPECT_EQ(checks.level(kSlow), Level::Off);
  ASSERT_TRUE(checks.configure("error", kAll));
  EXPECT_EQ(checks.level(kSlow), Level::Off);
  ASSERT_TRUE(checks.configure("AMD-INI=warn,error", kAll));
  EXPECT_EQ(checks.level(kSlow), Level::Warn);
}

TEST(Checks, NamesWhatItDoesNotUnderstand) {
  Checks checks;
  EXPECT_NE(checks.configure("eror", kAll).error().message.find("\"eror\""), std::string::npos);
  EXPECT_NE(checks.configure("AMD=loud", kAll).error().message.find("\"loud\""), std::string::npos);
  EXPECT_FALSE(checks.configure("=warn", kAll));
}

TEST(Checks, NamesARuleThatThereIsNot) {
  for (const char* wrong : {"AMD-ZZZ=off", "warn,AMD-VM-003=error", "AMD-VM-0011=off", "VM=off"}) {
    Checks checks;
    const Result<void> result = checks.configure(wrong, kAll);
    ASSERT_FALSE(result) << wrong;
    std::string name(wrong);
    name = name.substr(name.find(',') + 1);
    name = name.substr(0, name.find('='));
    EXPECT_EQ(result.error().message,
              "no rule's name starts with \"" + name + "\"; there are AMD-CP, AMD-INI, AMD-VM");
  }
  Checks checks;
  EXPECT_TRUE(checks.configure("AMD=warn,AMD-V=off,AMD-VM-002=error", kAll));
}

TEST(Checks, CountsAndTellsWhatIsNotOff) {
  Checks checks(Level::Error);
  ASSERT_TRUE(checks.configure("AMD-VM-002=off,AMD-CP=warn", kAll));
  std::vector<std::string> heard;
  checks.listen([&](const Report& report) { heard.push_back(to_string(report)); });
  EXPECT_EQ(checks.report(kFirst, "0x10 is not mapped"), Level::Error);
  EXPECT_EQ(checks.report(kSecond, "never seen"), Level::Off);
  EXPECT_EQ(checks.report(kOther, "opcode 3"), Level::Warn);
  EXPECT_EQ(checks.report(kOther, "opcode 4"), Level::Warn);
  EXPECT_EQ(heard,
            (std::vector<std::string>{"error AMD-VM-001: 0x10 is not mapped",
                                      "warn AMD-CP-001: opcode 3", "warn AMD-CP-001: opcode 4"}));
  EXPECT_EQ(checks.report(kFirst, "nobody's fault", Level::Warn), Level::Warn);
  EXPECT_EQ(heard.back(), "warn AMD-VM-001: nobody's fault");
  EXPECT_EQ(checks.count(kFirst), 2u);
  EXPECT_EQ(checks.count(kSecond), 0u);
  EXPECT_EQ(checks.count(kOther), 2u);
  EXPECT_EQ(checks.errors(), 1u);
  EXPECT_EQ(checks.reports().size(), 4u);
  checks.clear();
  EXPECT_EQ(checks.errors() + checks.count(kOther) + checks.reports().size(), 0u);
}

TEST(Checks, TellsAHundredWarningsOfARuleAndEachError) {
  Checks checks;
  ASSERT_TRUE(checks.configure("AMD-VM-002=error", kAll));
  std::vector<std::string> heard;
  checks.listen([&](const Report& report) { heard.push_back(report.message); });
  for (int i = 0; i < 250; ++i) {
    checks.report(kFirst, "again");
    checks.report(kSecond, "wrong");
  }
  EXPECT_EQ(std::ranges::count(heard, "wrong"), 250);
  EXPECT_EQ(std::ranges::count(heard, "again"), 99);
  EXPECT_EQ(
      std::ranges::count(heard, "again (further warnings of this rule are counted, and not told)"),
      1);
  EXPECT_EQ(heard.size(), 350u);
  EXPECT_EQ(checks.count(kFirst), 250u);
}

}  // namespace
}  // namespace doorbell::emu
