// Uvm: NVIDIA's unified memory driver: the ioctls of /dev/nvidia-uvm, with which the client fills
// the page tables of the address spaces that it registers. Memory and channels are RM's (rm/).
//
// Thread safety: none, the machine's mutex guards it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drivers/nv/hw/rm/status.h"
#include "drivers/nv/hw/uvm/ioctl.h"
#include "emulator/nv/rm/rm.h"

namespace doorbell::emu::nvgpu {

// What one open file has registered and mapped.
class UvmSpace {
 public:
  struct Mapping {
    u64 base = 0, bytes = 0;
    u32 gpu = 0;
    std::shared_ptr<VaSpace> va_space;
    const Range* range = nullptr;
    std::shared_ptr<Memory> memory;  // kept until it is unmapped, also if RM has freed it
  };
  struct ExternalRange {
    u64 base = 0, bytes = 0;
    std::vector<Mapping> mappings;
    bool contains(u64 at, u64 size) const {
      return at >= base && size <= bytes && at - base <= bytes - size;
    }
  };
  ~UvmSpace();

  std::vector<u32> gpus;                              // registered
  std::map<u32, std::shared_ptr<VaSpace>> va_spaces;  // by GPU
  std::map<u64, ExternalRange> ranges;                // by base
  // Frees the addresses that channels' own resources took, by client and channel.
  std::map<std::pair<u32, u32>, u64> channels;
  u64 calls = 0;
};

class Uvm {
 public:
  explicit Uvm(Rm& rm) : rm_(rm) {}

  // 0 or an errno.
  int ioctl(OpenFile& file, u32 request, u64 argument);

 private:
  template <class Parameters>
  int run(OpenFile& file, u64 argument, u32 (Uvm::*run)(OpenFile&, Parameters&));
  template <class Parameters>
  u32 judge_arguments(const Parameters& given);
  u32 refuse(hw::RmStatus status, const Check& check, std::string message) {
    rm_.checks().report(check, std::move(message));
    return static_cast<u32>(status);
  }
  std::optional<u32> find_gpu(const hw::GpuUuid& uuid) const;
  // The range that contains these addresses, or null.
  UvmSpace::ExternalRange* find_range(UvmSpace& space, u64 base, u64 bytes) const;

  u32 initialize(OpenFile& file, hw::UvmInitialize& given);
  u32 initialize_mm(OpenFile& file, hw::UvmMmInitialize& given);
  u32 register_gpu(OpenFile& file, hw::UvmRegisterGpu& given);
  u32 unregister_gpu(OpenFile& file, hw::UvmUnregisterGpu& given);
  u32 register_va_space(OpenFile& file, hw::UvmRegisterGpuVaSpace& given);
  u32 unregister_va_space(OpenFile& file, hw::UvmUnregisterGpuVaSpace& given);
  u32 register_channel(OpenFile& file, hw::UvmRegisterChannel& given);
  u32 unregister_channel(OpenFile& file, hw::UvmUnregisterChannel& given);
  u32 create_range(OpenFile& file, hw::UvmCreateExternalRange& given);
  u32 map(OpenFile& file, hw::UvmMapExternalAllocation& given);
  u32 map_for(UvmSpace& space, UvmSpace::ExternalRange& range,
              const hw::UvmMapExternalAllocation& given, const hw::UvmMappingAttributes& how,
              const std::shared_ptr<Memory>& memory);
  u32 unmap(OpenFile& file, hw::UvmUnmapExternal& given);
  u32 free(OpenFile& file, hw::UvmFree& given);
  u32 enable_peer(OpenFile& file, hw::UvmEnablePeerAccess& given);
  u32 disable_peer(OpenFile& file, hw::UvmDisablePeerAccess& given);

  Rm& rm_;
};

}  // namespace doorbell::emu::nvgpu
