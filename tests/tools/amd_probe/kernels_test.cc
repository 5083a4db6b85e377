// The probe's kernels are what LLVM makes of their texts, for every chip: descriptor and code of
// the code objects that the driver loads. UPDATE_GOLDEN=1 writes them anew.
#include "tools/amd_probe/kernels.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "drivers/amd/code_object.h"
#include "drivers/amd/hw/abi/elf_chip.h"
#include "drivers/amd/hw/isa/chip.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;

constexpr const char* kKernels[] = {"places", "scratch", "local",  "atomics",
                                    "wrong",  "touch",   "endless"};

std::string folder() {
  return std::string(std::getenv("DOORBELL_SOURCE_ROOT")) + "/tools/amd_probe/";
}

std::string read(const std::string& name) {
  std::ifstream file(folder() + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

// The 16 words of the descriptor, without the distance to the code, and the code's.
std::vector<u32> words_of(const amd::CodeObject& object, u64 code_bytes) {
  constexpr u32 kDescriptorWords = 16, kEntryOffset = 4;
  std::vector<u32> words(kDescriptorWords + code_bytes / sizeof(u32));
  std::memcpy(words.data(), object.image.data() + object.descriptor_offset,
              kDescriptorWords * sizeof(u32));
  words[kEntryOffset] = words[kEntryOffset + 1] = 0;
  std::memcpy(words.data() + kDescriptorWords, object.image.data() + object.entry_offset,
              code_bytes);
  return words;
}

std::vector<u32> assembled(const std::string& kernel, const std::string& chip) {
  const auto object =
      testing::assemble(read("kernels/common.s") + read("kernels/" + kernel + ".s"), chip);
  EXPECT_TRUE(object) << object.error().message;
  const auto loaded = amd::CodeObject::load(*object, kernel);
  EXPECT_TRUE(loaded) << loaded.error().message;
  // The code is first in the image, the descriptor at the next multiple of 64.
  u64 code_bytes = loaded->descriptor_offset - loaded->entry_offset;
  std::vector<u32> words = words_of(*loaded, code_bytes);
  constexpr u32 kPadding[] = {0, 0xbf80'0000, 0xbf9f'0000};  // s_nop, s_code_end
  while (std::ranges::find(kPadding, words.back()) != std::end(kPadding)) words.pop_back();
  return words;
}

void update() {
  constexpr std::pair<const char*, const char*> kChips[] = {
      {"Gfx9", "gfx942"}, {"Gfx10", "gfx1030"}, {"Gfx11", "gfx1100"}, {"Gfx12", "gfx1201"}};
  std::string text =
      "// Made by tests/tools/amd_probe/kernels_test.cc (UPDATE_GOLDEN=1) from kernels/*.s: of "
      "each "
      "kernel and\n// generation the 16 words of its descriptor, without the distance to its code, "
      "then its code.\n// clang-format off\n";
  for (const char* kernel : kKernels)
    for (const auto& [generation, chip] : kChips) {
      text += fmt::format("KERNEL({}, {},", kernel, generation);
      const std::vector<u32> words = assembled(kernel, chip);
      constexpr usize kOfALine = 8;
      for (usize i = 0; i < words.size(); ++i)
        text += fmt::format("{}{:#x}{}", i % kOfALine == 0 ? "\n  " : " ", words[i],
                            i + 1 < words.size() ? "," : ")\n");
    }
  std::ofstream(folder() + "kernel_words.inc") << text << "// clang-format on\n";
}

TEST(Kernels, AreWhatLlvmAssembles) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) return update();
  for (const hw::Chip& chip : hw::chips())
    for (const char* kernel : kKernels) {
      SCOPED_TRACE(std::string(kernel) + " on " + std::string(chip.name));
      const std::span<const u32> ours = kernel_words(kernel, chip.generation());
      EXPECT_EQ(std::vector<u32>(ours.begin(), ours.end()),
                assembled(kernel, std::string(chip.name)));
    }
}

TEST(Kernels, ArePackedAsTheDriverLoadsThem) {
  for (const hw::Chip& chip : hw::chips())
    for (const char* kernel : kKernels) {
      SCOPED_TRACE(std::string(kernel) + " on " + std::string(chip.name));
      const amd::Caps& caps = *amd::find_caps(chip.target());
      const auto binary = probe_kernel(kernel, caps, {.local_bytes = 4096});
      ASSERT_TRUE(binary) << binary.error().message;
      const auto object = amd::CodeObject::load(binary->image, kernel);
      ASSERT_TRUE(object) << object.error().message;
      EXPECT_EQ(hw::chip_of_elf_flags(object->elf_flags), chip.name);
      EXPECT_EQ(object->descriptor.group_segment_fixed_size, 4096u);
      const std::span<const u32> words = kernel_words(kernel, chip.generation());
      EXPECT_EQ(std::memcmp(object->image.data() + object->entry_offset, words.data() + 16,
                            (words.size() - 16) * sizeof(u32)),
                0);
    }
}

TEST(Kernels, WhatIsNotThereIsUnsupported) {
  const auto binary = probe_kernel("none", *amd::find_caps(110000), {});
  ASSERT_FALSE(binary);
  EXPECT_EQ(binary.error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace doorbell::tools
