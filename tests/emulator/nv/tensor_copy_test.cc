// Copies of boxes of tensors (cp.async.bulk.tensor, tiled). PTX's tensormap.replace, which NVIDIA's
// compiler makes code of, writes the tensor maps; expected values are what PTX says of boxes.
// [PTX ISA, "tensormap.replace", "Tensors", "cp.async.bulk.tensor"]
#include <fmt/format.h>

#include <cstring>

#include "emulator/nv/compute/rules.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u32 kMapWords = 32, kTensorAt = 64, kBoxAt = 1024, kWords = 2048;
constexpr u64 kBuffer = 0x10'0000;  // run_cuda()'s
constexpr u32 kAlignment = 1024;    // of the box in shared memory

struct Tensor {
  u32 type = 2, bytes = 4;  // tensormap.replace's .elemtype: u8, u16, u32, s32, u64, ...
  u32 swizzle = 0;          // its .swizzle_mode: none, 32, 64, 128 bytes
  std::vector<u32> size, box, every;
  std::vector<u64> stride;  // bytes, of all dimensions but the first

  u32 rank() const { return static_cast<u32>(size.size()); }
  u32 box_bytes() const {
    u32 total = bytes;
    for (u32 i = 0; i < rank(); ++i) total *= taken(i);
    return total;
  }
  u32 taken(u32 i) const { return (box[i] + every[i] - 1) / every[i]; }
};

// The tensor begins at kTensorAt; its map is at the start of the buffer.
std::string map_source(const Tensor& tensor) {
  std::string body;
  const auto put = [&](const std::string& field, char width, u64 value) {
    body += fmt::format(
        "asm volatile(\"tensormap.replace.tile.{}, %1;\" :: \"l\"(o), \"{}\"({}) : \"memory\");\n",
        fmt::format(fmt::runtime(field), "global.b1024", "[%0]"), width,
        width == 'l' ? fmt::format("{}ull", value) : fmt::format("{}u", value));
  };
  put("global_address.{0}.b64 {1}", 'l', kBuffer + 4 * kTensorAt);
  put("rank.{0}.b32 {1}", 'r', tensor.rank() - 1);
  for (u32 i = 0; i < tensor.rank(); ++i) {
    put(fmt::format("box_dim.{{0}}.b32 {{1}}, {}", i), 'r', tensor.box[i]);
    put(fmt::format("global_dim.{{0}}.b32 {{1}}, {}", i), 'r', tensor.size[i]);
    put(fmt::format("element_stride.{{0}}.b32 {{1}}, {}", i), 'r', tensor.every[i]);
  }
  for (u32 i = 0; i + 1 < tensor.rank(); ++i)
    put(fmt::format("global_stride.{{0}}.b64 {{1}}, {}", i), 'l', tensor.stride[i]);
  for (const auto& [field, value] :
       {std::pair("elemtype", tensor.type), std::pair("interleave_layout", 0u),
        std::pair("swizzle_mode", tensor.swizzle), std::pair("fill_mode", 0u)})
    body += fmt::format(
        "asm volatile(\"tensormap.replace.tile.{}.global.b1024.b32 [%0], {};\" :: \"l\"(o) : "
        "\"memory\");\n",
        field, value);
  return "extern \"C\" __global__ void test(unsigned* o) {\nif (threadIdx.x != 0) return;\n" +
         body + "}";
}

// Loads the box at the coordinates to kBoxAt, or stores what is there.
std::string copy_source(const Tensor& tensor, bool loads) {
  std::string coordinates, values;
  for (u32 i = 0; i < tensor.rank(); ++i) {
    coordinates += fmt::format("{}%{}", i == 0 ? "" : ",", i + 3);
    values += fmt::format(", \"r\"(c{})", i);
  }
  const std::string load = fmt::format(
      R"(init(&b, 1);
      arrive_expect(&b, {0});
      asm volatile("cp.async.bulk.tensor.{1}d.shared::cluster.global.tile"
                   ".mbarrier::complete_tx::bytes [%0], [%1, {{{2}}}], [%2];"
                   :: "r"(at(s)), "l"(o), "r"(at(&b)){3} : "memory");)",
      tensor.box_bytes(), tensor.rank(), coordinates, values);
  const std::string store = fmt::format(
      R"(asm volatile("cp.async.bulk.tensor.{0}d.global.shared::cta.tile.bulk_group"
                   " [%1, {{{1}}}], [%0];" :: "r"(at(s)), "l"(o), "r"(0){2} : "memory");
      asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");)",
      tensor.rank(), coordinates, values);
  const std::string out = loads ? "while (!done(&b)) {}\n for (int i = t; i < words; i += 32)"
                                  " o[1024 + i] = s[i];"
                                : "";
  return R"(
    typedef unsigned long long u64;
    __device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
    __device__ void init(u64* b, unsigned count) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(count) : "memory");
    }
    __device__ void arrive_expect(u64* b, unsigned bytes) {
      asm volatile("{.reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1;}"
                   :: "r"(at(b)), "r"(bytes) : "memory");
    }
    __device__ bool done(u64* b) {
      unsigned done;
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                   "selp.b32 %0, 1, 0, p;}" : "=r"(done) : "r"(at(b)) : "memory");
      return done;
    }
    extern "C" __global__ void test(unsigned* o, int c0, int c1, int c2, int c3, int c4,
                                    int words) {
      extern __shared__ __align__(1024) unsigned s[];
      __shared__ u64 b;
      const int t = threadIdx.x;)" +
         std::string(loads ? ""
                           : "for (int i = t; i < words; i += 32) s[i] = o[1024 + i];\n"
                             "asm volatile(\"fence.proxy.async;\" ::: \"memory\");\n") +
         "__syncthreads();\nif (t == 0) {\n" + (loads ? load : store) + "\n}\n__syncthreads();\n" +
         out + "}";
}

class NvTensorCopy : public CudaTest {
 protected:
  using Coordinates = std::array<i32, 5>;

  // Bytes of words that are all different, with the tensor's map.
  std::vector<u32> make_words(const Tensor& tensor) {
    compile(map_source(tensor));
    if (!cubin_) return {};
    std::vector<u32> words(kWords);
    for (u32 i = kMapWords; i < kWords; ++i) words[i] = i * 0x01030507 + 0x11223344;
    const CudaRun run = this->run(words);
    EXPECT_FALSE(run.result.fault) << to_string(*run.result.fault);
    return run.words;
  }
  CudaRun copy(const Tensor& tensor, const std::vector<u32>& words, const Coordinates& first,
               bool loads) {
    compile(copy_source(tensor, loads));
    std::vector<u32> more;
    for (const i32 at : first) more.push_back(static_cast<u32>(at));
    more.push_back(tensor.box_bytes() / 4);
    return this->run(words, {.dynamic_shared = tensor.box_bytes() + kAlignment, .more = more});
  }
  // Calls f(byte of the tensor or -1, byte of the box's memory) for each element.
  template <class Function>
  static void for_each(const Tensor& tensor, const Coordinates& first, Function f) {
    const u32 count = tensor.box_bytes() / tensor.bytes;
    for (u32 i = 0; i < count; ++i) {
      i64 place = 0;
      bool inside = true;
      u32 rest = i;
      for (u32 d = 0; d < tensor.rank(); ++d) {
        const i64 at = first[d] + i64{rest % tensor.taken(d)} * tensor.every[d];
        rest /= tensor.taken(d);
        inside &= at >= 0 && at < tensor.size[d];
        place += at * static_cast<i64>(d == 0 ? tensor.bytes : tensor.stride[d - 1]);
      }
      // The units of 16 bytes in a row of 128 change places, by the row's number.
      const u32 byte = i * tensor.bytes, row = byte / 128, units = 1u << tensor.swizzle;
      const u32 unit = (byte % 128 / 16) ^ (row % units);
      f(inside ? place : -1, row * 128 + unit * 16 + byte % 16);
    }
  }
  void check(const Tensor& tensor, const Coordinates& first) {
    const std::vector<u32> words = make_words(tensor);
    if (!cubin_) return;
    std::vector<u32> loaded = words, stored = words;
    for_each(tensor, first, [&](i64 place, u32 at) {
      u8* box = reinterpret_cast<u8*>(loaded.data() + kBoxAt) + at;
      const u8* tensor_bytes = reinterpret_cast<const u8*>(words.data() + kTensorAt);
      if (place < 0) return std::memset(box, 0, tensor.bytes), void();
      std::memcpy(box, tensor_bytes + place, tensor.bytes);
      std::memcpy(reinterpret_cast<u8*>(stored.data() + kTensorAt) + place,
                  reinterpret_cast<const u8*>(words.data() + kBoxAt) + at, tensor.bytes);
    });
    const CudaRun load = copy(tensor, words, first, true);
    ASSERT_FALSE(load.result.fault) << to_string(*load.result.fault);
    EXPECT_EQ(load.words, loaded);
    const CudaRun store = copy(tensor, words, first, false);
    ASSERT_FALSE(store.result.fault) << to_string(*store.result.fault);
    EXPECT_EQ(store.words, stored);
  }
};

TEST_P(NvTensorCopy, BoxesInside) {
  check({.size = {64}, .box = {16}, .every = {1}, .stride = {}}, {8});
  check({.size = {20, 12}, .box = {8, 4}, .every = {1, 1}, .stride = {96}}, {4, 3});
  check({.type = 1,
         .bytes = 2,
         .size = {16, 4, 5},
         .box = {8, 2, 3},
         .every = {1, 1, 1},
         .stride = {48, 208}},
        {8, 1, 2});
  check({.type = 0,
         .bytes = 1,
         .size = {32, 3, 2, 2, 2},
         .box = {16, 2, 1, 2, 2},
         .every = {1, 1, 1, 1, 1},
         .stride = {32, 96, 192, 384}},
        {16, 1, 1, 0, 0});
}

// Elements outside are zeros, and are not written: on both sides of a dimension.
TEST_P(NvTensorCopy, BoxesThatBeginOrEndOutside) {
  const Tensor tensor{.size = {20, 12}, .box = {8, 4}, .every = {1, 1}, .stride = {96}};
  check(tensor, {16, 10});
  check(tensor, {-3, -2});
  check(tensor, {100, 0});
}

TEST_P(NvTensorCopy, Swizzles) {
  for (const u32 swizzle : {1u, 2u, 3u}) {
    const u32 row = (16u << swizzle) / 4;  // the inner dimension is at most a swizzled row
    check({.swizzle = swizzle,
           .size = {row, 16},
           .box = {row, 16},
           .every = {1, 1},
           .stride = {row * 4}},
          {0, 0});
  }
}

TEST_P(NvTensorCopy, EverySecondRow) {
  check({.size = {8, 16}, .box = {8, 8}, .every = {1, 2}, .stride = {32}}, {0, 3});
}

// A map of another rank than the instruction's, and memory that is not mapped.
TEST_P(NvTensorCopy, WhatIsWrongStopsTheWarp) {
  Tensor tensor{.size = {20, 12}, .box = {8, 4}, .every = {1, 1}, .stride = {96}};
  std::vector<u32> words = make_words(tensor);
  if (!cubin_) return;
  const Tensor line{.size = {64}, .box = {32}, .every = {1}, .stride = {}};
  const CudaRun rank = copy(line, words, {}, true);
  ASSERT_TRUE(rank.result.fault);
  EXPECT_EQ(rank.result.fault->rule, &kUnknownInstruction) << to_string(*rank.result.fault);
  tensor.size = {20, 1000};
  words = make_words(tensor);
  const CudaRun beyond = copy(tensor, words, {0, 900}, true);
  ASSERT_TRUE(beyond.result.fault);
  EXPECT_EQ(beyond.result.fault->rule, &kGlobalAccess) << to_string(*beyond.result.fault);
}

INSTANTIATE_TEST_SUITE_P(Chips, NvTensorCopy, ::testing::Values("sm_90a"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
