// Notes as compilers write them, and notes that are cut, nested or lie; what lies behind code.
#include "drivers/amd/code_metadata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "drivers/amd/code_object.h"
#include "tests/drivers/amd/compiled_kernel.h"

namespace doorbell::amd {
namespace {

using Bytes = std::vector<u8>;

Bytes note(const std::string& data, const std::string& owner = std::string("AMDGPU\0", 7),
           u8 type = 32) {
  Bytes bytes = {
      static_cast<u8>(owner.size()), 0, 0, 0, static_cast<u8>(data.size()), 0, 0, 0, type, 0, 0, 0};
  for (const std::string& part : {owner, data}) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    bytes.resize((bytes.size() + 3) / 4 * 4);
  }
  return bytes;
}

// By the MessagePack specification, "Formats":
//   {"amdhsa.version": [1, 2], "amdhsa.kernels": [
//     {".symbol": "a.kd", ".max_flat_workgroup_size": 64},
//     {".args": [{".size": 8}, None, True, -1, 1.5], ".max_flat_workgroup_size": 1024,
//      ".reqd_workgroup_size": [64, 4, 1], ".symbol": "b.kd"}]}
const std::string kTwoKernels(
    "\x82\xae"
    "amdhsa.version\x92\x01\x02\xae"
    "amdhsa.kernels\x92"
    "\x82\xa7.symbol\xa4"
    "a.kd\xb8.max_flat_workgroup_size\x40"
    "\x84\xa5.args\x95\x81\xa5.size\x08\xc0\xc3\xff\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"
    "\xb8.max_flat_workgroup_size\xcd\x04\x00"
    "\xb4.reqd_workgroup_size\x93\x40\x04\x01\xa7.symbol\xa4"
    "b.kd",
    169);

TEST(CodeMetadata, ReadsTheKernelThatIsAskedFor) {
  Bytes notes = note("compiler", std::string("GNU\0", 4), 3);
  const Bytes metadata = note(kTwoKernels);
  notes.insert(notes.end(), metadata.begin(), metadata.end());
  const KernelMetadata a = *KernelMetadata::read(notes, "a"), b = *KernelMetadata::read(notes, "b");
  EXPECT_EQ(a.max_flat_workgroup_size, 64u);
  EXPECT_EQ(a.reqd_workgroup_size, (std::array<u64, 3>{}));
  EXPECT_EQ(b.max_flat_workgroup_size, 1024u);
  EXPECT_EQ(b.reqd_workgroup_size, (std::array<u64, 3>{64, 4, 1}));
  EXPECT_EQ(KernelMetadata::read(notes, "c")->max_flat_workgroup_size, 0u);
  EXPECT_EQ(KernelMetadata::read({}, "a")->max_flat_workgroup_size, 0u);
}

TEST(CodeMetadata, WhatIsCutIsRefused) {
  for (usize length = 1; length < kTwoKernels.size(); ++length) {
    const Result<KernelMetadata> read =
        KernelMetadata::read(note(kTwoKernels.substr(0, length)), "b");
    ASSERT_FALSE(read) << length;
    ASSERT_EQ(read.error().kind, ErrorKind::Corrupt);
  }
  Bytes notes = note(kTwoKernels);
  notes.resize(notes.size() - 4);
  const Result<KernelMetadata> read = KernelMetadata::read(notes, "b");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "a note of kernel b of 7 and 169 bytes at 0 of 188");
}

// An array of 2^32 - 1 items in an array, and so on; a map that is too long for its bytes.
TEST(CodeMetadata, NestingAndLengthsCostNothing) {
  std::string deep = "\x81\xa1x";
  for (int i = 0; i < 40; ++i) deep += "\xdd\xff\xff\xff\xff";
  EXPECT_FALSE(KernelMetadata::read(note(deep), "a"));
  EXPECT_FALSE(KernelMetadata::read(note("\xdf\xff\xff\xff\xff"), "a"));
  EXPECT_FALSE(KernelMetadata::read(note("\xdb\xff\xff\xff\xff"
                                         "a"),
                                    "a"));
}

// Up to 16 lines of 64 bytes behind code are fetched. [Mesa ac_binary.c
// ac_align_shader_binary_for_prefetch(), from MI200 on]
TEST(CodeObjectTest, HasRoomBehindItsCode) {
  constexpr usize kLines = 16, kLineBytes = 64;
  const core::Binary binary = compiled_kernel();
  const Result<CodeObject> object = CodeObject::load(binary.image, binary.name);
  ASSERT_TRUE(object);
  ASSERT_LT(object->entry_offset + kLines * kLineBytes, object->image.size());
  const auto behind = std::span(object->image).last(kLines * kLineBytes);
  EXPECT_TRUE(std::ranges::all_of(behind, [](u8 byte) { return byte == 0; }));
}

}  // namespace
}  // namespace doorbell::amd
