// Names, numbers, lazy opening and the errors of the device registry.
#include "core/device/registry.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/core/device/fake_device.h"

namespace doorbell::core {
namespace {

struct Fixture : testing::Test {
  FakeMemory memory;
  int opened = 0;
  std::unique_ptr<Registry> registry = std::make_unique<Registry>();

  Fixture() {
    registry->add("FAKE", [this](DeviceSpec spec) -> Result<std::unique_ptr<Device>> {
      ++opened;
      return std::make_unique<FakeDevice>(std::move(spec), &memory);
    });
    registry->add("BROKEN", [](DeviceSpec) -> Result<std::unique_ptr<Device>> {
      return fail(ErrorKind::Permission, "/dev/broken may not be opened");
    });
    registry->add_unavailable("AMD", "not built");
  }
};
using RegistryTest = Fixture;

TEST_F(RegistryTest, OpensOnceByAnySpelling) {
  u16 index = *registry->index_of("fake");
  EXPECT_EQ(opened, 0);
  Device* device = *registry->open("FAKE:0");
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(device->name(), "FAKE");
  EXPECT_EQ(device->index(), index);
  EXPECT_EQ(*registry->at(index), device);
  Device* second = *registry->open("Fake:1");
  EXPECT_NE(second, device);
  EXPECT_EQ(second->name(), "FAKE:1");
  EXPECT_EQ(second->spec().ordinal, 1);
  EXPECT_EQ(registry->name_of(second->index()), "FAKE:1");
  EXPECT_EQ(opened, 2);
}

TEST_F(RegistryTest, RefusesBadNames) {
  EXPECT_EQ(registry->open("FAEK").error().message, "unknown device FAEK; did you mean FAKE?");
  EXPECT_EQ(registry->open("ZZZZZZ").error().message, "unknown device ZZZZZZ");
  EXPECT_EQ(registry->open("FAKE:x").error().message,
            "device 'FAKE:x': 'x' is not a device number");
  EXPECT_EQ(registry->open("FAKE:-1").error().message,
            "device 'FAKE:-1': '-1' is not a device number");
  EXPECT_EQ(registry->open("").error().message, "device '' has no name");
  EXPECT_EQ(registry->open("amd:1").error().message, "device AMD:1: not built");
  EXPECT_EQ(registry->open("amd:1").error().kind, ErrorKind::Unsupported);
}

TEST_F(RegistryTest, AnErrorNamesItsDeviceAndIsNotKept) {
  Result<Device*> refused = registry->open("broken");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().device, "BROKEN");
  registry->add("BROKEN", [this](DeviceSpec spec) -> Result<std::unique_ptr<Device>> {
    return std::make_unique<FakeDevice>(std::move(spec), &memory);
  });
  EXPECT_TRUE(registry->open("broken"));
}

TEST_F(RegistryTest, TheDefaultIsTheFirstThatOpens) {
  EXPECT_FALSE(registry->default_device());
  registry->set_default_order({"BROKEN", "AMD", "FAKE"});
  EXPECT_EQ((*registry->default_device())->name(), "FAKE");
  registry->set_default_order({"BROKEN", "AMD"});
  EXPECT_EQ(registry->default_device().error().message,
            "no device opens: /dev/broken may not be opened; device AMD: not built");
  registry->set_default_order({"BROKEN"});
  EXPECT_EQ(registry->default_device().error().kind, ErrorKind::Permission);
}

TEST_F(RegistryTest, ManyThreadsOpenOneDevice) {
  std::vector<std::thread> threads;
  std::vector<Device*> seen(8);
  for (usize t = 0; t < seen.size(); ++t)
    threads.emplace_back([&, t] { seen[t] = *registry->open("FAKE:3"); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(opened, 1);
  for (Device* device : seen) EXPECT_EQ(device, seen[0]);
}

}  // namespace
}  // namespace doorbell::core
