// The layout of tensor maps, by words that libcuda wrote: driver 580.65 with CUDA 13.0, on a GPU of
// sm_120. [cicuvc/nvidia-sass-document, notes/sm90/arch/cutensormap.md, "Verified encodings"]
//
// Words 16 (bytes of the box), 18 (of the swizzle) and bit 21 of word 2 (tensors of 65536 elements
// and more) are libcuda's own: no instruction of PTX writes them, and nothing here reads them.
#include <gtest/gtest.h>

#include <cstring>

#include "emulator/nv/isa/tensor_map.h"

namespace doorbell::emu::nvgpu {
namespace {

using Words = std::array<u32, TensorMap::kBytes / 4>;
constexpr u32 kF16 = 6;  // .elemtype of tensormap.replace

// f16, 16 x 16 elements, rows of 32 bytes, boxes of 16 x 8.
constexpr Words kPlain = {0x0be00000, 0, 0x310, 2,          0, 0, 0,     0, 0xf, 0xf,
                          0,          0, 0,     0x0f000000, 7, 0, 0x100, 0, 0x10};
constexpr TensorMap kPlainMap{.address = 0x0be00000,
                              .rank = 2,
                              .element_bytes = 2,
                              .size = {16, 16},
                              .stride = {2, 32},
                              .box = {16, 8},
                              .every = {1, 1}};

Words with(Words words, std::initializer_list<std::pair<usize, u32>> others) {
  for (const auto& [at, word] : others) words[at] = word;
  return words;
}

void expect_map(const Words& words, const TensorMap& want) {
  std::array<u8, TensorMap::kBytes> bytes;
  std::memcpy(bytes.data(), words.data(), bytes.size());
  const std::optional<TensorMap> map = read_tensor_map(bytes);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->address, want.address);
  EXPECT_EQ(map->rank, want.rank);
  EXPECT_EQ(map->element_bytes, want.element_bytes);
  EXPECT_EQ(map->swizzle_units, want.swizzle_units);
  EXPECT_EQ(map->size, want.size);
  EXPECT_EQ(map->stride, want.stride);
  EXPECT_EQ(map->box, want.box);
  EXPECT_EQ(map->every, want.every);
  const auto written = write_tensor_map(want, kF16);
  const Words fields = with(words, {{2, words[2] & ~(1u << 21)}, {16, 0}, {18, 0}});
  EXPECT_EQ(std::memcmp(written.data(), fields.data(), written.size()), 0);
}

TEST(NvTensorMap, OfRowsIsLibcudas) { expect_map(kPlain, kPlainMap); }

TEST(NvTensorMap, SwizzlesAreLibcudas) {
  for (const auto& [units, form, own] :
       {std::tuple{2u, 0x2310u, 0x100u}, {4u, 0x4310u, 0x200u}, {8u, 0x6310u, 0x400u}}) {
    TensorMap map = kPlainMap;
    map.swizzle_units = units;
    expect_map(with(kPlain, {{2, form}, {18, own}}), map);
  }
}

TEST(NvTensorMap, TypesAreLibcudas) {
  for (const auto& [form, bytes] :
       {std::pair{0x10u, 1u}, {0x110u, 4u}, {0x490u, 8u}, {0x510u, 2u}}) {
    std::array<u8, TensorMap::kBytes> map;
    const Words words = with(kPlain, {{2, form}});
    std::memcpy(map.data(), words.data(), map.size());
    EXPECT_EQ(read_tensor_map(map)->element_bytes, bytes);
  }
}

}  // namespace
}  // namespace doorbell::emu::nvgpu
