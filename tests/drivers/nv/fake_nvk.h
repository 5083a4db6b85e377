// FakeNvk: NVIDIA's kernel modules of a test: writes down every ioctl, gives out memory of the host
// and handles, and knows one GPU. It runs nothing: what channels are rung for is for the test to
// look at.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/os/forwarded_files.h"
#include "base/os/mmio.h"
#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/rm/status.h"
#include "drivers/nv/hw/uvm/ioctl.h"
#include "tests/support/fake_system.h"

namespace doorbell::testing {

class FakeNvk final : public os::ForwardedFiles, private os::MmioTrap {
 public:
  struct Object {
    u32 parent = 0, class_id = 0;
    std::vector<std::byte> parameters;
  };
  struct Memory {
    std::vector<u64> storage;
    u8* host = nullptr;
    u64 address = 0, bytes = 0;  // of the GPU's, once mapped
  };

  // One GPU of a chip, as /dev/nvidia0.
  explicit FakeNvk(std::string_view chip = "sm_86", std::string version = "580.105.08");

  FakeFiles files;  // nodes that are missing here do not open
  std::string version;
  // The next call of this name is answered with the status.
  std::map<std::string, nv::hw::RmStatus> refuse;

  std::vector<std::string> calls;  // "RM_ALLOC class=0x80", "RM_FREE class=0x80", "UVM 37", ...
  std::map<u32, Object> objects;   // by handle
  std::map<u32, Memory> memory;    // by handle
  std::vector<u32> rings;          // tokens that the doorbell got
  nv::hw::ExportDmabuf exported;   // the last call, which got this descriptor
  static constexpr int kExported = 1077;
  // The file of NV_ESC_ALLOC_OS_EVENT, and the waits for it, each of which calls on_wait.
  int event_file = -1, waits = 0;
  std::function<void(u64 timeout_ns)> on_wait;

  // Where the host sees an address of the GPU; fails the test where nothing is.
  u8* at(u64 va);
  // The object of this class that was made last.
  Object& last_of(u32 class_id);
  template <class P>
  P parameters_of(u32 class_id) {
    return *nv::hw::unpack<P>(last_of(class_id).parameters, abi());
  }
  nv::hw::DriverAbi abi() const;

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;

  // ---- for its files ----------------------------------------------------------------------------
  Result<int> rm(unsigned long request, void* argument);
  Result<int> uvm(unsigned long request, void* argument);
  Result<os::Mapping> map(int descriptor, const os::MapRequest& request);
  Result<bool> wait_ready(int descriptor, u64 timeout_ns);
  os::MappedRegisters registers(u64 size) { return {{}, os::Mmio(*this, size)}; }

 private:
  template <class T>
  T take(const void* argument) const;
  template <class T>
  void give(const T& record, void* argument) const;
  u32 status_of(const std::string& name);
  void allocate(nv::hw::RmAlloc& request);
  void control(nv::hw::RmControl& request);
  u64 read(u64, unsigned) override { return 0; }
  void write(u64 offset, unsigned bytes, u64 value) override;

  const nv::hw::ChipClasses& chip_;
  u32 next_handle_ = 0xc1d00000;
  int next_descriptor_ = 10;
  std::map<int, u32> mapped_;  // memory by the descriptor that maps it
};

}  // namespace doorbell::testing
