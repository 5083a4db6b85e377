// The order of calls is that of NVIDIA's own clients; see docs/hw/nv.md.
#include "tests/emulator/nv/machine_client.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/util/check.h"

namespace doorbell::emu::nvgpu::testing {

Client::Client(const ClientOptions& options) {
  u32 release = 0;
  std::from_chars(options.driver.data(), options.driver.data() + 3, release);
  abi_ = *hw::driver_abi(release);
  auto made = Machine::create({.gpus = options.gpus,
                               .driver = options.driver,
                               .checks = options.checks,
                               .adversarial = options.adversarial,
                               .lockstep = true,
                               .seed = options.seed});
  CHECK(made.has_value(), "{}", to_string(made.error()));
  machine_ = std::move(*made);
  files_ = machine_->files(os::host_files());
  control_ = open("/dev/nvidiactl");
  uvm_ = open("/dev/nvidia-uvm");
  root = alloc(0, hw::kRootClient);
  gpu_ = open_gpu();
  device = alloc(root, hw::DeviceParameters::kClass, hw::DeviceParameters{});
  subdevice = alloc(device, hw::SubdeviceParameters::kClass, hw::SubdeviceParameters{});
  va_space = alloc(device, hw::VaSpaceParameters::kClass,
                   hw::VaSpaceParameters{.flags = hw::VaSpaceParameters::kExternallyOwned,
                                         .va_size = 0x1ff'ffff'0000,
                                         .va_base = 0x1000});
  hw::GetGidInfo gid{.flags = hw::GetGidInfo::kBinary, .length = 16};
  control(subdevice, gid);
  std::copy_n(gid.data.begin(), uuid.size(), uuid.begin());
  uvm(hw::UvmInitialize{});
  uvm(hw::UvmRegisterGpu{.gpu_uuid = uuid});
  uvm(hw::UvmRegisterGpuVaSpace{.gpu_uuid = uuid,
                                .rm_ctrl_fd = control_->descriptor(),
                                .client = root,
                                .va_space = va_space});
}

std::unique_ptr<os::File> Client::open(const std::string& path) {
  auto file = files_->open(path, os::Access::ReadWrite);
  CHECK(file.has_value(), "{}", to_string(file.error()));
  return std::move(*file);
}

std::unique_ptr<os::File> Client::open_gpu() {
  std::unique_ptr<os::File> file = open("/dev/nvidia0");
  hw::RegisterFd registered{.ctl_fd = control_->descriptor()};
  CHECK(escape(*file, registered) == 0, "a file of the GPU is not registered");
  return file;
}

u32 Client::alloc(u32 parent, u32 class_id) {
  std::vector<std::byte> none;
  return alloc_with(parent, class_id, none);
}

u32 Client::alloc_with(u32 parent, u32 class_id, std::vector<std::byte>& parameters) {
  hw::RmAlloc call{.root = root,
                   .object_parent = parent,
                   .class_id = class_id,
                   .params = parameters.empty() ? 0 : reinterpret_cast<u64>(parameters.data()),
                   .params_size = static_cast<u32>(parameters.size())};
  status_ = escape(*control_, call);
  return status_ == 0 ? call.object_new : 0;
}

u32 Client::free(u32 object) {
  hw::RmFree call{.root = root, .object_parent = device, .object_old = object};
  return escape(*control_, call);
}

Client::Buffer Client::allocate(u64 bytes) {
  Buffer buffer;
  buffer.bytes = bytes;
  buffer.address = next_address_;
  next_address_ += bytes + 0x10'0000;
  buffer.handle = alloc(device, hw::kMemoryLocalUser,
                        hw::MemoryParameters{.owner = root, .size = bytes, .alignment = 4096});
  CHECK(buffer.handle != 0, "memory: status {:#x}", status_);
  const std::unique_ptr<os::File> file = open_gpu();
  hw::RmMapMemory map{
      .params = {.client = root, .device = device, .memory = buffer.handle, .length = bytes},
      .fd = file->descriptor()};
  CHECK(escape(*control_, map) == 0, "map memory: status {:#x}", map.params.status);
  auto mapping = file->map({.size = bytes, .writable = true});
  CHECK(mapping.has_value(), "{}", to_string(mapping.error()));
  buffer.mapping = std::move(*mapping);
  uvm(hw::UvmCreateExternalRange{.base = buffer.address, .length = bytes});
  hw::UvmMapExternalAllocation external{.base = buffer.address,
                                        .length = bytes,
                                        .gpu_attributes_count = 1,
                                        .rm_ctrl_fd = control_->descriptor(),
                                        .client = root,
                                        .memory = buffer.handle};
  external.gpu_attributes[0] = {.gpu_uuid = uuid, .mapping_type = hw::kUvmMappingReadWriteAtomic};
  const u32 status = uvm(external);
  CHECK(status == 0, "UVM maps memory: status {:#x}", status);
  return buffer;
}

void Client::make_channel(std::vector<hw::ClassId> classes) {
  group = alloc(device, hw::ChannelGroupParameters::kClass,
                hw::ChannelGroupParameters{.engine_type = 1});
  const u32 share = alloc(group, hw::ContextShareParameters::kClass,
                          hw::ContextShareParameters{.va_space = va_space});
  ring_memory = allocate(0x10000);
  pushbuffer = allocate(0x10000);
  data = allocate(0x40000);
  constexpr u64 kUserd = kEntries * 8;
  hw::ChannelParameters parameters{
      .gp_fifo_offset = ring_memory.address, .gp_fifo_entries = kEntries, .context_share = share};
  parameters.userd_memory[0] = ring_memory.handle;
  parameters.userd_offset[0] = kUserd;
  channel = alloc(group, static_cast<u32>(hw::ClassId::AmpereChannelGpfifoA), parameters);
  CHECK(channel != 0, "a channel: status {:#x}", status_);
  for (const hw::ClassId id : classes) alloc(channel, static_cast<u32>(id));
  hw::GetWorkSubmitToken got;
  control(channel, got);
  token = got.work_submit_token;
  hw::GpfifoSchedule schedule{.enable = true};
  control(group, schedule);
  const u32 usermode = alloc(subdevice, static_cast<u32>(hw::ClassId::TuringUsermodeA));
  doorbell_file_ = open_gpu();
  hw::RmMapMemory map{.params = {.client = root,
                                 .device = device,
                                 .memory = usermode,
                                 .length = hw::kUsermodeBytes},
                      .fd = doorbell_file_->descriptor()};
  CHECK(escape(*control_, map) == 0, "map the doorbell: status {:#x}", map.params.status);
  auto registers = doorbell_file_->map_registers({.size = hw::kUsermodeBytes, .writable = true});
  CHECK(registers.has_value(), "{}", to_string(registers.error()));
  doorbell_ = std::move(*registers);
}

void Client::push(std::span<const u32> words) {
  std::copy(words.begin(), words.end(), pushbuffer.words() + pushed_);
  pushed_ += static_cast<u32>(words.size());
}

void Client::submit() {
  const auto entry = encode(hw::GpEntry{.addr = pushbuffer.address + u64{4} * submitted_,
                                        .length = pushed_ - submitted_});
  std::memcpy(ring_memory.words() + 2 * put_, entry.data(), sizeof entry);
  submitted_ = pushed_;
  put_ = (put_ + 1) % kEntries;
  ring_memory.words()[(kEntries * 8 + hw::kUserdGpPut) / 4] = put_;
  ring(token);
}

void Client::ring(u32 value) {
  doorbell_.mmio.write32(hw::kDoorbell, value);
  machine_->run_until_idle();
}

u64 Client::count(std::string_view rule) const {
  u64 count = 0;
  for (const Report& report : machine_->checks().reports()) count += report.check->id == rule;
  return count;
}

std::string Client::reports() const {
  std::string text;
  for (const Report& report : machine_->checks().reports()) text += to_string(report) + "\n";
  return text;
}

}  // namespace doorbell::emu::nvgpu::testing
