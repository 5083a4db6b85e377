// The ioctls of a render node that a compute client needs: the driver's name, and the GPU's
// properties. Memory of GEM, contexts and command submission are not emulated.
// [drivers/gpu/drm/drm_ioctl.c; drivers/gpu/drm/amd/amdgpu/amdgpu_kms.c amdgpu_info_ioctl()]
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/ioctl_text.h"
#include "emulator/amd/kfd/calling.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/core/user_memory.h"

namespace doorbell::emu::amdgpu {
namespace {

using namespace amd::hw;

// Copies as much as fits, and returns the whole length. [drm_copy_field()]
bool copy_text(std::string_view text, u64& length, u64 user) {
  usize room = static_cast<usize>(std::min<u64>(length, text.size()));
  length = text.size();
  return user == 0 || room == 0 || copy_out(user, text.data(), room);
}

DrmDeviceInfo device_info(const Device& device) {
  const Node& node = *device.slot.node;
  DrmDeviceInfo info;
  info.device_id = node.device_id;
  info.external_rev = 1;
  info.family = node.family;
  info.num_shader_engines = node.arrays / node.arrays_per_engine / node.xccs;
  info.num_shader_arrays_per_engine = node.arrays_per_engine;
  info.gpu_counter_freq = 100'000;
  info.max_engine_clock = u64{node.clock_mhz} * 1000;
  info.max_memory_clock = u64{node.memory_clock_mhz} * 1000;
  // Of all XCCs of the package, whose one device it is, for a partition too. [gfx_v9_4_3.c
  // gfx_v9_4_3_get_cu_info(): active_cu_number counts on over xcc_id; amdgpu_kms.c
  // amdgpu_info_ioctl(): adev->gfx.cu_info.number]
  info.cu_active_number = find_node(node.name)->compute_units;
  // Engines beyond the fourth share the rows of the first, two columns on.
  for (u32 engine = 0; engine < info.num_shader_engines; ++engine)
    for (u32 array = 0; array < node.arrays_per_engine; ++array)
      info.cu_bitmap[engine % 4][(array + engine / 4 * 2) % 4] = (1u << node.cus_per_array) - 1;
  info.num_hw_gfx_contexts = 8;
  info.pcie_gen = 4;
  info.pcie_num_lanes = 16;
  info.virtual_address_offset = u64{2} << 20;
  info.virtual_address_max = u64{1} << 47;
  info.virtual_address_alignment = 4096;
  info.pte_fragment_size = u32{2} << 20;
  info.gart_page_size = 4096;
  info.vram_bit_width = node.memory_width;
  info.wave_front_size = node.wave_size;
  info.num_shader_visible_vgprs = node.wave_size == 32 ? 1024 : 512;
  info.num_cu_per_sh = node.cus_per_array;
  info.num_tcc_blocks = 16;
  info.high_va_offset = 0xffff'8000'0000'0000;
  info.high_va_max = 0xffff'ffff'ffe0'0000;
  return info;
}

class Handlers {
 public:
  Handlers(Kfd& kfd, Device& device) : kfd_(kfd), device_(device) {}

  int operator()(DrmVersion& a) {
    a.version_major = 3;
    a.version_minor = 61;
    a.version_patchlevel = 0;
    bool copied = copy_text("amdgpu", a.name_len, a.name) && copy_text("0", a.date_len, a.date) &&
                  copy_text("AMD GPU", a.desc_len, a.desc);
    return copied ? 0 : EFAULT;
  }

  int operator()(DrmGetClient& a) {
    if (a.idx != 0) return EINVAL;
    a.auth = 1;
    a.pid = static_cast<u64>(getpid());
    a.uid = getuid();
    return 0;
  }

  int operator()(DrmAmdgpuInfo& a) {
    if (a.return_size == 0 || a.return_pointer == 0) return EINVAL;
    const Node& node = *device_.slot.node;
    switch (a.query) {
      case kDrmInfoAccelWorking: return answer(a, u32{1});
      case kDrmInfoDevInfo: return answer(a, device_info(device_));
      case kDrmInfoVramGtt: {
        struct {
          u64 vram, visible, gtt;
        } sizes{node.vram_bytes, node.vram_bytes, kGttBytes};
        return answer(a, sizes);
      }
      case kDrmInfoMemory: {
        DrmHeapInfo vram{node.vram_bytes, node.vram_bytes, device_.vram_used, node.vram_bytes};
        DrmHeapInfo gtt{kGttBytes, kGttBytes, device_.gtt_used, kGttBytes};
        return answer(a, DrmMemoryInfo{vram, vram, gtt});
      }
      case kDrmInfoReadMmrReg: {
        // The layout of tiled memory, which libdrm queries; compute has no tiles.
        u32 count = std::min(a.argument[1], 32u);
        u32 zeros[32] = {};
        u32 bytes = std::min<u32>(a.return_size, count * 4);
        return copy_out(a.return_pointer, zeros, bytes) ? 0 : EFAULT;
      }
      case kDrmInfoFwVersion: {
        struct {
          u32 version, feature;
        } firmware{node.firmware, 0};
        return answer(a, firmware);
      }
      default: return missing(fmt::format("query {:#x} of AMDGPU_INFO", a.query));
    }
  }

  int operator()(DrmPrimeHandleToFd&) { return missing("PRIME_HANDLE_TO_FD"); }
  int operator()(DrmPrimeFdToHandle&) { return missing("PRIME_FD_TO_HANDLE"); }

 private:
  template <class T>
  int answer(const DrmAmdgpuInfo& a, const T& value) {
    usize bytes = std::min<usize>(a.return_size, sizeof value);
    return copy_out(a.return_pointer, &value, bytes) ? 0 : EFAULT;
  }

  int missing(const std::string& what) {
    kfd_.checks().report(kNotEmulated, what + " is not emulated", Level::Warn);
    Calling::expect_failure();
    return EINVAL;
  }

  Kfd& kfd_;
  Device& device_;
};

}  // namespace

int Kfd::render_ioctl(u32 gpu, u32 request, u64 argument) {
  next_ioctl();
  int why = EINVAL;
  bool found = false;
  for_each_drm_ioctl([&](auto example) {
    using T = decltype(example);
    if (found || T::kNumber != (request & 0xff) || (request >> 8 & 0xff) != T::kType) return;
    found = true;
    T arguments{};
    usize size = std::min<usize>(request >> 16 & 0x3fff, sizeof(T));
    const Calling calling(T::kName);
    if (!copy_in(&arguments, argument, size)) {
      calling.judge(checks(), why = EFAULT);
      return;
    }
    why = Handlers(*this, *devices_.at(gpu))(arguments);
    if (trace() && trace()->enabled()) {
      const IoctlText call = ioctl_text(arguments, why, traced_pointers());
      trace()->write({.kind = "ioctl",
                      .gpu = static_cast<int>(gpu),
                      .text = call.text,
                      .fields = call.fields});
    }
    if (T::kDirection == IoctlDirection::ReadWrite && !copy_out(argument, &arguments, size))
      why = EFAULT;
    calling.judge(checks(), why);
  });
  if (!found)
    checks().report(
        kNotEmulated,
        fmt::format("ioctl {:#x} of the render node of GPU {} is not emulated", request, gpu),
        Level::Warn);
  return why;
}

}  // namespace doorbell::emu::amdgpu
