// The names of the topology's properties, and the context-save header by literal.
#include "drivers/amd/hw/topology.h"

#include <cstddef>
#include <set>

#include <gtest/gtest.h>

#include "drivers/amd/hw/context_save.h"

namespace doorbell::amd::hw {
namespace {

// kfd_context_save_area_header of kfd_ioctl.h 1.17, which Debian 12's header lacks.
static_assert(offsetof(ContextSaveHeader, control_stack_size) == 4 &&
              offsetof(ContextSaveHeader, wave_state_offset) == 8 &&
              offsetof(ContextSaveHeader, wave_state_size) == 12 &&
              offsetof(ContextSaveHeader, debug_offset) == 16 &&
              offsetof(ContextSaveHeader, err_payload_addr) == 24 &&
              offsetof(ContextSaveHeader, err_event_id) == 32);

TEST(Topology, EachPropertyIsNamedOnce) {
  std::set<std::string_view> names;
  NodeProperties properties;
  NodeProperties::fields(properties, [&](std::string_view name, u64& value) {
    EXPECT_TRUE(names.insert(name).second) << name;
    value = names.size();
  });
  EXPECT_EQ(names.size(), sizeof(NodeProperties) / sizeof(u64));
  EXPECT_EQ(properties.cpu_cores_count, 1u);
  EXPECT_EQ(properties.max_engine_clk_ccompute, names.size());
}

}  // namespace
}  // namespace doorbell::amd::hw
