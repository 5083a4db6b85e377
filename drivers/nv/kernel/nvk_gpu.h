// NvkGpu: one GPU as the kernel modules let this process have it: its objects of RM, its address
// space, which UVM manages, its classes and shape, and the page of its doorbell. Memory and
// channels are made through it.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include "base/os/mmio.h"
#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/kernel/nvk.h"
#include "drivers/nv/kernel/nvk_memory.h"

namespace doorbell::nv {

// The graphics engine's parts, of which some may be switched off in this GPU.
struct GpuShape {
  u32 sm_version = 0;  // hw::GrInfo::SmVersion
  u32 gpcs = 0, tpcs_per_gpc = 0, sms_per_tpc = 0, warps_per_sm = 0;

  std::string chip() const;  // "sm_86"
  u8 sass_version() const;   // of QMDs: 0x86
  u32 sms() const { return gpcs * tpcs_per_gpc * sms_per_tpc; }
};

class NvkGpu {
 public:
  // `nvk` outlives it, the card is one of its.
  static Result<std::unique_ptr<NvkGpu>> open(Nvk& nvk, const hw::CardInfo& card);
  ~NvkGpu();
  NvkGpu(const NvkGpu&) = delete;
  NvkGpu& operator=(const NvkGpu&) = delete;

  Nvk& nvk() const { return nvk_; }
  u32 id() const { return card_.gpu_id; }
  const std::string& node() const { return node_; }  // "/dev/nvidia0"
  os::File& file() const { return *file_; }
  const GpuShape& shape() const { return shape_; }
  // The newest of each kind that both this GPU and we know.
  const hw::ChipClasses& classes() const { return classes_; }
  const hw::GpuUuid& uuid() const { return uuid_; }
  u32 device() const { return device_.handle(); }
  u32 subdevice() const { return subdevice_.handle(); }
  u32 va_space() const { return va_space_.handle(); }
  // Whether all its memory lies below 2^40: semaphores of channels before Hopper's have 40 bits of
  // address.
  bool needs_low_addresses() const { return classes_.channel < hw::ClassId::HopperChannelGpfifoA; }
  // A write of a channel's token tells the GPU to look at the channel.
  const os::Mmio& doorbells() const { return doorbells_.mmio; }

  // Mapped on this GPU. A refusal says whether memory lacks.
  Result<std::unique_ptr<NvkMemory>> allocate(const MemoryRequest& request);
  // Memory of another process, device or driver, by the descriptor of its dma-buf, which stays the
  // caller's; mapped on this GPU. `bytes` are the dma-buf's, below 4 GiB: its size is what RM does
  // not tell. Memory of another GPU is reached through PCIe, whatever links the GPUs have.
  Result<std::unique_ptr<NvkMemory>> import_dmabuf(int descriptor, u64 bytes, std::string what);

 private:
  NvkGpu(Nvk& nvk, const hw::CardInfo& card);
  Result<void> make_objects();
  Result<void> choose_classes();
  Result<void> read_shape();
  Result<void> join_uvm();
  Result<void> map_doorbells();

  Nvk& nvk_;
  const hw::CardInfo card_;
  const std::string node_;
  std::unique_ptr<os::File> file_;
  RmObject device_, subdevice_, va_space_, usermode_;
  hw::ChipClasses classes_{};
  GpuShape shape_;
  hw::GpuUuid uuid_{};
  bool is_registered_ = false, has_va_space_ = false;  // with UVM
  std::unique_ptr<os::File> doorbell_file_;
  os::MappedRegisters doorbells_;
};

}  // namespace doorbell::nv
