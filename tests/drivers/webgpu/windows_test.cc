// Where the bindings of launches begin and end, with bindings of 1024 bytes at multiples of 256.
#include "drivers/webgpu/windows.h"

#include <gtest/gtest.h>

namespace doorbell::webgpu::testing {
namespace {

constexpr BindingLimits kLimits{1024, 256, 4};

std::vector<std::vector<u64>> placed(std::vector<Use> uses) {
  const Result<Windows> windows = place_windows(uses, kLimits);
  if (!windows) return {};
  std::vector<std::vector<u64>> all;
  for (const Window& window : windows->windows) all.push_back({window.offset, window.bytes});
  return all;
}
using Places = std::vector<std::vector<u64>>;

TEST(WebGpuWindows, ASmallBufferIsShownWhole) {
  const std::vector<Use> uses = {
      {1, 1024, 0, 16, true}, {2, 512, 64, 80, false}, {1, 1024, 512, 1024, false}};
  EXPECT_EQ(placed(uses), (Places{{0, 1024}, {0, 512}}));
  EXPECT_EQ(place_windows(uses, kLimits)->sharing, (hw::Sharing{{0, 1, 0}}));
}

TEST(WebGpuWindows, NeighboursInALargeBufferShareABinding) {
  EXPECT_EQ(placed({{1, 8192, 4000, 4100, true}, {1, 8192, 3700, 3800, false}}),
            (Places{{3584, 1024}}));
  // At the end there is less.
  EXPECT_EQ(placed({{1, 8192, 8000, 8192, true}}), (Places{{7936, 256}}));
}

// Both are read_write, since one of them is written.
TEST(WebGpuWindows, DistantPartsOfALargeBufferGetBindingsOfTheirOwn) {
  const std::vector<Use> uses = {
      {1, 8192, 5000, 5010, false}, {1, 8192, 300, 400, true}, {1, 8192, 260, 280, false}};
  EXPECT_EQ(placed(uses), (Places{{4864, 148}, {256, 144}}));
  EXPECT_EQ(place_windows(uses, kLimits)->sharing, (hw::Sharing{{0, 1, 1}, 3}));
  const std::vector<Use> read = {{1, 8192, 5000, 5010, false}, {1, 8192, 300, 400, false}};
  EXPECT_EQ(place_windows(read, kLimits)->sharing, (hw::Sharing{{0, 1}, 0}));
}

TEST(WebGpuWindows, WhatNoBindingShowsIsRefused) {
  EXPECT_EQ(place_windows(std::vector<Use>{{1, 8192, 0, 1028, false}}, kLimits).error().message,
            "it uses 1028 bytes of one buffer, a binding shows at most 1024");
  // Two that overlap, of which one is written, and more than a binding together.
  EXPECT_EQ(place_windows(std::vector<Use>{{1, 8192, 0, 1000, true}, {1, 8192, 900, 1700, false}},
                          kLimits)
                .error()
                .message,
            "it uses parts of one buffer that overlap and span more than the 1024 bytes of a "
            "binding");
  std::vector<Use> many;
  for (u64 i = 0; i < 5; ++i) many.push_back({1, 65536, i * 4096, i * 4096 + 4, false});
  EXPECT_EQ(place_windows(many, kLimits).error().message,
            "it needs 5 bindings, a kernel has at most 4");
}

}  // namespace
}  // namespace doorbell::webgpu::testing
