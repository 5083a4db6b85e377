// A client of the emulated machine's nodes, in process and in lockstep, for the tests of RM, UVM
// and channels: it makes what a driver makes, object by object.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/host/methods.h"
#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/uvm/ioctl.h"
#include "emulator/nv/machine.h"

namespace doorbell::emu::nvgpu::testing {

namespace hw = nv::hw;

struct ClientOptions {
  std::string gpus = "sm_86", driver = "580.95.05", checks = "warn";
  bool adversarial = false;
  u64 seed = 1;
};

class Client {
 public:
  explicit Client(const ClientOptions& options = {});

  // ---- calls: the status that RM or UVM answers -------------------------------------------------
  template <class Record>
  u32 escape(os::File& file, Record& record) {
    auto bytes = hw::pack(record, abi_);
    const unsigned long request =
        3ul << 30 | bytes.size() << 16 | u64{hw::kEscapeType} << 8 | Record::kEscape;
    const auto done = file.ioctl(request, bytes.data());
    if (!done) return kFailed;
    record = *hw::unpack<Record>(bytes, abi_);
    if constexpr (requires { record.params.status; }) return record.params.status;
    if constexpr (requires { record.status; }) return record.status;
    return 0;
  }
  template <class Record>
  u32 uvm(Record record) {
    auto bytes = hw::pack(record, abi_);
    const auto done = uvm_->ioctl(Record::kRequest, bytes.data());
    return done ? hw::unpack<Record>(bytes, abi_)->rm_status : kFailed;
  }
  static constexpr u32 kFailed = ~u32{0};  // the ioctl itself
  // The handle; 0 where it fails: status() says why.
  u32 alloc(u32 parent, u32 class_id);
  template <class Parameters>
  u32 alloc(u32 parent, u32 class_id, const Parameters& parameters) {
    auto bytes = hw::pack(parameters, abi_);
    return alloc_with(parent, class_id, bytes);
  }
  u32 alloc_with(u32 parent, u32 class_id, std::vector<std::byte>& parameters);
  template <class Parameters>
  u32 control(u32 object, Parameters& parameters) {
    auto bytes = hw::pack(parameters, abi_);
    hw::RmControl call{.client = root,
                       .object = object,
                       .cmd = Parameters::kCommand,
                       .params = reinterpret_cast<u64>(bytes.data()),
                       .params_size = static_cast<u32>(bytes.size())};
    const u32 status = escape(*control_, call);
    parameters = *hw::unpack<Parameters>(bytes, abi_);
    return status;
  }
  u32 free(u32 object);
  u32 status() const { return status_; }

  // ---- what a driver makes ----------------------------------------------------------------------
  // Video memory at an address of the GPU, mapped for the process too.
  struct Buffer {
    u32 handle = 0;
    u64 address = 0, bytes = 0;
    os::Mapping mapping;
    u32* words() const { return reinterpret_cast<u32*>(mapping.data()); }
    u64* longs() const { return reinterpret_cast<u64*>(mapping.data()); }
  };
  Buffer allocate(u64 bytes);
  // A group with a channel that has objects of these classes; scheduled.
  void make_channel(std::vector<hw::ClassId> classes);
  // Appends words to the pushbuffer.
  void push(std::span<const u32> words);
  template <class Record>
  void push(u8 subchannel, const Record& record) {
    push(hw::encode_methods(subchannel, record));
  }
  // An entry for what was pushed, GP_PUT and the doorbell; runs until nothing moves.
  void submit();
  void ring(u32 token);

  // How often a rule was broken.
  u64 count(std::string_view rule) const;
  std::string reports() const;

  Machine& machine() { return *machine_; }
  u32 root = 0, device = 0, subdevice = 0, va_space = 0, group = 0, channel = 0, token = 0;
  hw::GpuUuid uuid{};
  Buffer ring_memory, pushbuffer, data;  // data: for the test
  os::File& control_file() { return *control_; }
  os::File& gpu_file() { return *gpu_; }
  // Another file of the GPU's node, registered.
  std::unique_ptr<os::File> open_gpu();

 private:
  std::unique_ptr<os::File> open(const std::string& path);

  hw::DriverAbi abi_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<os::Files> files_;
  std::unique_ptr<os::File> control_, uvm_, gpu_, doorbell_file_;
  os::MappedRegisters doorbell_;
  u32 status_ = 0;
  u64 next_address_ = 0x10'0000'0000;
  u32 pushed_ = 0, submitted_ = 0, put_ = 0;
  static constexpr u32 kEntries = 64;
};

}  // namespace doorbell::emu::nvgpu::testing
