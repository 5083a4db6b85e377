// Calls of ioctls as text and JSON.
#include "drivers/amd/hw/ioctl_text.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/kfd.h"

namespace doorbell::amd::hw {
namespace {

TEST(IoctlText, NamesFieldsAndResult) {
  const IoctlText call = ioctl_text(KfdAcquireVm{.drm_fd = 4, .gpu_id = 0xd00d}, 0);
  EXPECT_EQ(call.text, "ACQUIRE_VM drm_fd=4 gpu_id=0xd00d -> 0");
  EXPECT_EQ(call.fields, R"({"ioctl":"ACQUIRE_VM","drm_fd":4,"gpu_id":53261,"result":0})");
  EXPECT_EQ(ioctl_text(KfdSetXnackMode{.xnack_enabled = -1}, EBUSY).text,
            "SET_XNACK_MODE xnack_enabled=-1 -> -16 (Device or resource busy)");
}

TEST(IoctlText, AddressesKeepTheirTopBit) {
  const IoctlText call = ioctl_text(KfdFreeMemory{.handle = 0x8000'0000'0000'0001}, 0);
  EXPECT_EQ(call.text, "FREE_MEMORY_OF_GPU handle=0x8000000000000001 -> 0");
  EXPECT_EQ(nlohmann::json::parse(call.fields)["handle"], 0x8000'0000'0000'0001u);
}

TEST(IoctlText, ByRequestWithArgumentsOfOtherSizes) {
  KfdCreateQueue create{.ring_size = 0x1000, .queue_id = 3, .sdma_engine_id = 7};
  std::vector<u8> bytes(sizeof create);
  std::memcpy(bytes.data(), &create, sizeof create);
  // As version 1.16 has it: 88 bytes, so that the request differs too.
  const auto old = ioctl_text(0xc0584b02, std::span(bytes).first(kKfdCreateQueueOldBytes), 0);
  ASSERT_TRUE(old.has_value());
  EXPECT_NE(old->text.find(" ring_size=0x1000 "), std::string::npos) << old->text;
  EXPECT_NE(old->text.find(" sdma_engine_id=0 "), std::string::npos) << old->text;
  bytes.resize(200);
  EXPECT_NE(ioctl_text(kRequest<KfdCreateQueue>, bytes, 0)->text.find(" sdma_engine_id=7 "),
            std::string::npos);
  EXPECT_EQ(ioctl_text(kRequest<DrmAmdgpuInfo>, {}, EINVAL)->text.substr(0, 12), "AMDGPU_INFO ");
}

TEST(IoctlText, OthersAreNone) {
  EXPECT_FALSE(ioctl_text(0x5413, {}, 0).has_value());  // TIOCGWINSZ
  EXPECT_FALSE(is_known_ioctl(0x4b33));                 // KDGKBTYPE, of the same letter
  EXPECT_TRUE(is_known_ioctl(kRequest<KfdWaitEvents>));
}

}  // namespace
}  // namespace doorbell::amd::hw
