// The DRM ioctls and their answers against the distribution's libdrm headers; the context-save
// header and the topology's names against the kernel's source by literal.
#include "drivers/amd/hw/drm.h"

#include <cstddef>
#include <set>

#include <gtest/gtest.h>
#include <libdrm/amdgpu_drm.h>

#include "drivers/amd/hw/context_save.h"
#include "drivers/amd/hw/topology.h"

namespace doorbell::amd::hw {
namespace {

#define EXPECT_SAME(ours, theirs, request)            \
  EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs; \
  EXPECT_EQ(kRequest<ours>, static_cast<u32>(request)) << #request
#define EXPECT_FIELD(ours, theirs, field) \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, field)) << #theirs "." #field

TEST(Drm, IsTheDistributions) {
  EXPECT_SAME(DrmVersion, drm_version, DRM_IOCTL_VERSION);
  EXPECT_SAME(DrmGetClient, drm_client, DRM_IOCTL_GET_CLIENT);
  EXPECT_SAME(DrmPrimeHandleToFd, drm_prime_handle, DRM_IOCTL_PRIME_HANDLE_TO_FD);
  EXPECT_SAME(DrmPrimeFdToHandle, drm_prime_handle, DRM_IOCTL_PRIME_FD_TO_HANDLE);
  EXPECT_SAME(DrmAmdgpuInfo, drm_amdgpu_info, DRM_IOCTL_AMDGPU_INFO);
  EXPECT_FIELD(DrmVersion, drm_version, name_len);
  EXPECT_FIELD(DrmVersion, drm_version, desc);
  EXPECT_FIELD(DrmGetClient, drm_client, magic);
  EXPECT_FIELD(DrmAmdgpuInfo, drm_amdgpu_info, query);
  EXPECT_EQ(offsetof(DrmAmdgpuInfo, argument), offsetof(drm_amdgpu_info, query_hw_ip));
  EXPECT_EQ(kDrmInfoDevInfo, u32{AMDGPU_INFO_DEV_INFO});
  EXPECT_EQ(kDrmInfoMemory, u32{AMDGPU_INFO_MEMORY});
  EXPECT_EQ(kDrmInfoVramGtt, u32{AMDGPU_INFO_VRAM_GTT});
  EXPECT_EQ(kDrmInfoHwIpInfo, u32{AMDGPU_INFO_HW_IP_INFO});
  EXPECT_EQ(kDrmInfoFwVersion, u32{AMDGPU_INFO_FW_VERSION});
  EXPECT_EQ(kDrmInfoReadMmrReg, u32{AMDGPU_INFO_READ_MMR_REG});
  EXPECT_EQ(kDrmInfoAccelWorking, u32{AMDGPU_INFO_ACCEL_WORKING});
}

TEST(Drm, DeviceInfoIsTheDistributions) {
  using Theirs = drm_amdgpu_info_device;
  EXPECT_LE(sizeof(DrmDeviceInfo), sizeof(Theirs));  // newer ones are longer
  EXPECT_FIELD(DrmDeviceInfo, Theirs, family);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, gpu_counter_freq);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, max_engine_clock);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, cu_active_number);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, cu_bitmap);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, ids_flags);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, virtual_address_max);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, vram_bit_width);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, param_buf_gpu_addr);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, wave_front_size);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, num_cu_per_sh);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, cu_ao_bitmap);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, high_va_max);
  EXPECT_FIELD(DrmDeviceInfo, Theirs, tcc_disabled_mask);
  EXPECT_EQ(sizeof(DrmMemoryInfo), sizeof(drm_amdgpu_memory_info));
  EXPECT_FIELD(DrmMemoryInfo, drm_amdgpu_memory_info, gtt);
}

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
