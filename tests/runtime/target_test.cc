// What DEV may say, and what is said about what it may not.
#include "runtime/target.h"

#include <gtest/gtest.h>

namespace doorbell::runtime {
namespace {

std::string refusal(std::string_view text) {
  auto parsed = parse_targets(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(Target, Parses) {
  EXPECT_EQ(parse_targets("")->size(), 0u);
  struct Case {
    const char* text;
    Target expected;
  } cases[] = {
      {"CPU", {"", {}, "CPU", "", ""}},
      {"cpu:clang", {"", {}, "CPU", "CLANG", ""}},
      {"CPU:CLANG:x86_64,znver2,avx2,-avx512f",
       {"", {}, "CPU", "CLANG", "x86_64,znver2,avx2,-avx512f"}},
      {"CPU::skylake", {"", {}, "CPU", "", "skylake"}},
      {"NULL:CLANG:a:b", {"", {}, "NULL", "CLANG", "a:b"}},
      {":CLANG", {"", {}, "", "CLANG", ""}},
  };
  for (const Case& c : cases) {
    auto parsed = parse_targets(c.text);
    ASSERT_TRUE(parsed) << c.text << ": " << parsed.error().message;
    ASSERT_EQ(parsed->size(), 1u) << c.text;
    EXPECT_EQ((*parsed)[0], c.expected) << c.text;
  }
}

TEST(Target, TheFirstForADeviceCounts) {
  auto targets = *parse_targets("NULL;CPU:CLANG;CPU::native");
  ASSERT_EQ(targets.size(), 3u);
  EXPECT_EQ(target_for(targets, "CPU")->renderer, "CLANG");
  EXPECT_EQ(target_for(targets, "NULL")->renderer, "");
  EXPECT_EQ(target_for(targets, "AMD"), nullptr);
  EXPECT_EQ(target_for(*parse_targets(":CLANG"), "AMD")->renderer, "CLANG");
}

TEST(Target, RefusesUnknownWords) {
  const std::string devices = "devices are AMD, NV, QCOM, METAL, CUDA, CL, CPU, WEBGPU, NULL";
  EXPECT_EQ(refusal("CUP"), "DEV: unknown device CUP; did you mean CPU?; " + devices);
  EXPECT_EQ(refusal("XYZZY"), "DEV: unknown device XYZZY; " + devices);
  EXPECT_EQ(refusal("CPU:CLAGN"),
            "DEV: unknown renderer CLAGN of CPU; did you mean CLANG?; renderers are LLVM, CLANG");
  EXPECT_EQ(refusal("CPU:1"),
            "DEV: unknown renderer 1 of CPU; devices are numbered in the program, not in DEV; "
            "renderers are LLVM, CLANG");
  EXPECT_EQ(refusal("CPU:PTX"), "DEV: unknown renderer PTX of CPU; renderers are LLVM, CLANG");
  EXPECT_EQ(refusal("PCI+CPU"), "DEV: device CPU has no interfaces, so PCI cannot be one");
}

// NULL has the renderers of all devices; where two have the same name, under names of its own.
TEST(Target, NamesTheRenderersOfAllDevicesOnNull) {
  EXPECT_EQ(refusal("NULL:AMD_HIP:gfx1100"), "accepted");
  EXPECT_EQ(refusal("NULL:CL"), "accepted");
  EXPECT_EQ(refusal("EMUMETAL+METAL:MSL"), "accepted");
  EXPECT_EQ(refusal("NULL:MSL"), "accepted");
  EXPECT_TRUE(refusal("NULL:HIP").starts_with("DEV: unknown renderer HIP of NULL"));
  EXPECT_TRUE(refusal("AMD:AMD_HIP").starts_with("DEV: unknown renderer AMD_HIP of AMD"));
}

TEST(Target, LeavesDevicesThatComputeNothingToTheProgram) {
  EXPECT_TRUE(refusal("DISK").starts_with("DEV: unknown device DISK"));
}

TEST(Target, RefusesWhatIsNotBuilt) {
  EXPECT_EQ(refusal("QCOM"), "DEV: device QCOM is not part of this version of Doorbell yet");
  EXPECT_EQ(refusal("EMUKGSL:0,2+QCOM:IR3:a630"),
            "DEV: device QCOM is not part of this version of Doorbell yet");
  EXPECT_EQ(refusal("NULL:IR3"), "DEV: renderer IR3 is not part of this version of Doorbell yet");
  EXPECT_EQ(parse_targets("QCOM").error().kind, ErrorKind::Unsupported);
}

TEST(Target, RefusesMalformedText) {
  EXPECT_EQ(refusal("CPU;"), "DEV: a target is empty");
  EXPECT_EQ(refusal(";"), "DEV: a target is empty");
  EXPECT_EQ(refusal("+CPU"), "DEV: '+CPU' has no interface before the plus");
  EXPECT_EQ(refusal("PCI+"), "DEV: interface PCI without a device");
  EXPECT_EQ(refusal("PCI:0,x+NV"), "DEV: 'x' is not the number of a device");
  EXPECT_EQ(refusal("PCI:+NV"), "DEV: '' is not the number of a device");
  EXPECT_EQ(refusal("PCI:1,-2+NV"), "DEV: '-2' is not the number of a device");
}

}  // namespace
}  // namespace doorbell::runtime
