// Starting the runtime: twice, from threads, and what is then registered.
#include "runtime/runtime.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/registry.h"
#include "core/util/config.h"
#include "runtime/device_table.h"

namespace doorbell::runtime {
namespace {

TEST(Runtime, StartsOnceFromManyThreads) {
  std::vector<std::thread> threads;
  std::vector<int> failed(4, 0);
  for (usize t = 0; t < 4; ++t) threads.emplace_back([&, t] { failed[t] = initialize() ? 0 : 1; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, std::vector<int>(4, 0));
  auto late = initialize(core::Config{});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().message, "the runtime has started already, with its own settings");
}

TEST(Runtime, RegistersTheTable) {
  ASSERT_TRUE(initialize());
  core::Registry& registry = core::Registry::instance();
  core::Device* cpu = *registry.open("CPU");
  EXPECT_GE(cpu->threads(), 1);
  EXPECT_FALSE(cpu->spec().renderer.empty());
  // One processor: its devices share the workers.
  EXPECT_EQ((*registry.open("CPU:1"))->threads(), cpu->threads());
  EXPECT_FALSE((*registry.open("NULL"))->runs());
  EXPECT_EQ(registry.open("QCOM").error().message,
            "device QCOM: not part of this version of Doorbell yet");
  EXPECT_EQ(registry.open("WEBGPUU").error().message,
            "unknown device WEBGPUU; did you mean WEBGPU?");
}

TEST(Runtime, EveryBuiltDeviceHasABuiltRenderer) {
  for (const DeviceKind* kind : computing_devices()) {
    if (!kind->open) continue;
    bool any = false;
    for (const NamedRenderer& renderer : renderers_of(*kind)) any |= renderer.is_built();
    EXPECT_TRUE(any) << kind->name;
  }
}

}  // namespace
}  // namespace doorbell::runtime
