// Relocations, in cubins that NVRTC 13.0 made (tests/fuzz/corpus/nv_cubin). Their names say which
// bits they fill: nvdisasm -elf.
#include "emulator/nv/compute/cubin.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/elf/elf_file.h"
#include "tests/support/golden.h"

namespace doorbell::emu::nvgpu {
namespace {

constexpr u64 kGlobals = 0x12'3456'7800;

std::vector<u8> file(const std::string& name) {
  const std::string bytes = testing::read_source("tests/fuzz/corpus/nv_cubin/" + name);
  return {bytes.begin(), bytes.end()};
}

// Calls f(entry, type, section that it is about) for each relocation; entries are in `bytes`.
template <class F>
void for_each_relocation(std::vector<u8>& bytes, const F& f) {
  const elf::ElfFile elf = *elf::ElfFile::parse(bytes);
  for (const elf::Section& section : elf.sections()) {
    if (section.type != SHT_REL && section.type != SHT_RELA) continue;
    const usize size = section.type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
    for (usize at = 0; at + size <= section.data.size(); at += size) {
      u8* entry = bytes.data() + (section.data.data() - bytes.data()) + at;
      u32 type = 0;
      std::memcpy(&type, entry + 8, sizeof type);
      f(entry, type, elf.sections()[section.info]);
    }
  }
}

// R_CUDA_G64 is R_CUDA_64 of global memory.
TEST(EmulatedCubin, GenericAddressesAreAddresses) {
  constexpr u32 kR64 = 2, kG64 = 4;
  std::vector<u8> first = file("sm_86"), second = first;
  int changed = 0;
  for_each_relocation(second, [&](u8* entry, u32 type, const elf::Section&) {
    if (type != kR64) return;
    ++changed;
    std::memcpy(entry + 8, &kG64, sizeof kG64);
  });
  ASSERT_GT(changed, 0);
  const auto plain = Cubin::parse(first), generic = Cubin::parse(second);
  ASSERT_TRUE(plain && generic) << (generic ? "" : generic.error().message);
  const auto plain_globals = (*plain)->place(kGlobals), globals = (*generic)->place(kGlobals);
  EXPECT_TRUE(std::ranges::equal(plain_globals, globals));
  EXPECT_EQ((*plain)->banks(), (*generic)->banks());
}

// R_CUDA_ABS55_16_34 fills bits 16 to 23 and 34 to 80.
TEST(EmulatedCubin, Absolute55LeavesBit81) {
  constexpr u32 kAbs55 = 0x4b;
  std::vector<u8> bytes = file("calls_sm_90");
  std::vector<u64> places;
  for_each_relocation(bytes, [&](const u8* entry, u32 type, const elf::Section& section) {
    if (type != kAbs55) return;
    u64 offset = 0;
    std::memcpy(&offset, entry, sizeof offset);
    u8* instruction = bytes.data() + (section.data.data() - bytes.data()) + offset;
    instruction[81 / 8] |= 1 << 81 % 8;
    places.push_back(offset);
  });
  ASSERT_EQ(places.size(), 1u) << "the test knows where the only one is";
  const auto cubin = Cubin::parse(bytes);
  ASSERT_TRUE(cubin) << cubin.error().message;
  (*cubin)->place(kGlobals);
  const std::span<const u8> code = (*cubin)->code();
  const auto is_kept = [&](u64 start) {
    return start + 16 <= code.size() && (code[start + 81 / 8] & 1 << 81 % 8) != 0;
  };
  bool kept = false;
  for (const CubinKernel& kernel : (*cubin)->kernels())
    kept |= is_kept(kernel.entry - Cubin::kCodeStart + places[0]);
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu
