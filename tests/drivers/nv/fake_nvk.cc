// What the fake answers.
#include "tests/drivers/nv/fake_nvk.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "base/util/try.h"
#include "drivers/nv/hw/host/user_control.h"

namespace doorbell::testing {

namespace hw = nv::hw;

namespace {

class Node final : public os::File {
 public:
  Node(FakeNvk& fake, int descriptor, bool is_uvm)
      : fake_(fake), descriptor_(descriptor), is_uvm_(is_uvm) {}

  Result<usize> read_at(u64, std::span<u8>) override { return fail_errno(EINVAL, "read"); }
  Result<void> write_at(u64, std::span<const u8>) override { return fail_errno(EINVAL, "write"); }
  Result<u64> size() override { return u64{0}; }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    return fake_.map(descriptor_, request);
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    return fake_.registers(request.size);
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return is_uvm_ ? fake_.uvm(request, argument) : fake_.rm(request, argument);
  }
  Result<bool> wait_ready(u64 timeout_ns) override {
    return fake_.wait_ready(descriptor_, timeout_ns);
  }
  int descriptor() const override { return descriptor_; }

 private:
  FakeNvk& fake_;
  const int descriptor_;
  const bool is_uvm_;
};

}  // namespace

FakeNvk::FakeNvk(std::string_view chip, std::string version)
    : ForwardedFiles(files), version(std::move(version)), chip_(*hw::find_classes(chip)) {
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"})
    files.add(node, "");
}

hw::DriverAbi FakeNvk::abi() const {
  return hw::driver_abi(static_cast<u32>(std::stoul(version))).value_or(hw::DriverAbi::R570);
}

Result<std::unique_ptr<os::File>> FakeNvk::open(const std::string& path, os::Access access) {
  TRY(std::unique_ptr<os::File> file, files.open(path, access));
  if (!path.starts_with("/dev/")) return file;
  return std::make_unique<Node>(*this, next_descriptor_++, path == "/dev/nvidia-uvm");
}

u8* FakeNvk::at(u64 va) {
  for (auto& [handle, one] : memory)
    if (va - one.address < one.bytes) return one.host + (va - one.address);
  ADD_FAILURE() << fmt::format("nothing at {:#x}", va);
  static u8 nowhere[4096];
  return nowhere;
}

FakeNvk::Object& FakeNvk::last_of(u32 class_id) {
  Object* found = nullptr;
  for (auto& [handle, object] : objects)
    if (object.class_id == class_id) found = &object;
  EXPECT_NE(found, nullptr) << fmt::format("class {:#x}", class_id);
  static Object none;
  return found == nullptr ? none : *found;
}

template <class T>
T FakeNvk::take(const void* argument) const {
  const usize size = hw::packed_size<T>(abi());
  return *hw::unpack<T>({static_cast<const std::byte*>(argument), size}, abi());
}
template <class T>
void FakeNvk::give(const T& record, void* argument) const {
  const std::vector<std::byte> bytes = hw::pack(record, abi());
  std::memcpy(argument, bytes.data(), bytes.size());
}

u32 FakeNvk::status_of(const std::string& name) {
  calls.push_back(name);
  const auto found = refuse.extract(name);
  return found ? static_cast<u32>(found.mapped()) : 0;
}

void FakeNvk::allocate(hw::RmAlloc& request) {
  request.status = status_of(fmt::format("RM_ALLOC class={:#x}", request.class_id));
  if (request.status != 0) return;
  request.object_new = next_handle_++;
  Object& made = objects[request.object_new];
  made = {request.object_parent, request.class_id, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(request.params);
  made.parameters.assign(bytes, bytes + request.params_size);
  const bool is_described = request.class_id == hw::OsDescriptorParameters::kClass;
  if (!is_described && request.class_id != hw::kMemoryLocalUser &&
      request.class_id != hw::kMemorySystem)
    return;
  Memory& one = memory[request.object_new];
  one.bytes = is_described
                  ? hw::unpack<hw::OsDescriptorParameters>(made.parameters, abi())->limit + 1
                  : hw::unpack<hw::MemoryParameters>(made.parameters, abi())->size;
  one.storage.resize(one.bytes / 8 + 512);
  one.host =
      reinterpret_cast<u8*>((reinterpret_cast<u64>(one.storage.data()) + 4095) / 4096 * 4096);
}

void FakeNvk::control(hw::RmControl& request) {
  request.status = status_of(fmt::format("RM_CONTROL {:#x}", request.cmd));
  if (request.status != 0) return;
  void* const at = reinterpret_cast<void*>(request.params);
  if (request.cmd == hw::GetBuildVersion::kCommand) {
    hw::GetBuildVersion answer;
    std::copy(version.begin(), version.end(), answer.driver_version.begin());
    give(answer, at);
  } else if (request.cmd == hw::GetClasslist::kCommand) {
    const u16 known[] = {static_cast<u16>(chip_.usermode), static_cast<u16>(chip_.channel),
                         static_cast<u16>(chip_.compute), static_cast<u16>(chip_.copy), 0x902d};
    auto list = take<hw::GetClasslist>(at);
    list.num_classes = static_cast<u32>(std::size(known));
    if (list.class_list != 0)
      std::copy(std::begin(known), std::end(known), reinterpret_cast<u32*>(list.class_list));
    give(list, at);
  } else if (request.cmd == hw::GetGrInfo::kCommand) {
    const u32 sm = static_cast<u32>(std::stoul(std::string(chip_.name.substr(3))));
    const std::map<u32, u32> facts = {{0x0c, sm == 120 ? 0xa04 : (sm / 10) << 8 | sm % 10},
                                      {0x0d, 48},
                                      {0x14, 7},
                                      {0x17, 6},
                                      {0x20, 2}};
    const auto info = take<hw::GetGrInfo>(at);
    auto* pairs = reinterpret_cast<u32*>(info.list);
    for (u32 i = 0; i < info.list_size; ++i) pairs[2 * i + 1] = facts.at(pairs[2 * i]);
  } else if (request.cmd == hw::GetGidInfo::kCommand) {
    auto gid = take<hw::GetGidInfo>(at);
    gid.data[0] = 0x42;
    give(gid, at);
  } else if (request.cmd == hw::GetWorkSubmitToken::kCommand) {
    give(hw::GetWorkSubmitToken{request.object & 0xffff}, at);
  }
}

Result<int> FakeNvk::rm(unsigned long request, void* argument) {
  switch (request & 0xff) {
    case hw::CardInfo::kEscape:
      give(hw::CardInfo{.valid = true, .gpu_id = 0x100, .minor_number = 0}, argument);
      break;
    case hw::RmAlloc::kEscape: {
      auto record = take<hw::RmAlloc>(argument);
      allocate(record);
      give(record, argument);
      break;
    }
    case hw::RmAllocMemory::kEscape: {
      auto record = take<hw::RmAllocMemory>(argument);
      record.params.status = status_of("RM_ALLOC_MEMORY");
      objects[record.params.object_new] = {record.params.object_parent, record.params.class_id, {}};
      memory[record.params.object_new] = {
          {}, reinterpret_cast<u8*>(record.params.memory), 0, record.params.limit + 1};
      give(record, argument);
      break;
    }
    case hw::RmFree::kEscape: {
      auto record = take<hw::RmFree>(argument);
      record.status =
          status_of(fmt::format("RM_FREE class={:#x}", objects[record.object_old].class_id));
      objects.erase(record.object_old);
      memory.erase(record.object_old);
      give(record, argument);
      break;
    }
    case hw::RmControl::kEscape: {
      auto record = take<hw::RmControl>(argument);
      control(record);
      give(record, argument);
      break;
    }
    case hw::RmMapMemory::kEscape: {
      auto record = take<hw::RmMapMemory>(argument);
      record.params.status = status_of("RM_MAP_MEMORY");
      mapped_[record.fd] = record.params.memory;
      give(record, argument);
      break;
    }
    case hw::AllocOsEvent::kEscape: {
      auto record = take<hw::AllocOsEvent>(argument);
      record.status = status_of("ALLOC_OS_EVENT");
      event_file = static_cast<int>(record.fd);
      give(record, argument);
      break;
    }
    case hw::ExportDmabuf::kEscape: {
      exported = take<hw::ExportDmabuf>(argument);
      auto answer = exported;
      answer.status = status_of("EXPORT_DMABUF");
      if (answer.status == 0) answer.fd = kExported;
      give(answer, argument);
      break;
    }
    default: break;
  }
  return 0;
}

Result<bool> FakeNvk::wait_ready(int descriptor, u64 timeout_ns) {
  EXPECT_EQ(descriptor, event_file);
  ++waits;
  if (on_wait) on_wait(timeout_ns);
  return true;
}

Result<int> FakeNvk::uvm(unsigned long request, void* argument) {
  const u32 refused = status_of(fmt::format("UVM {}", request));
  if (request == hw::UvmMapExternalAllocation::kRequest) {
    auto record = take<hw::UvmMapExternalAllocation>(argument);
    record.rm_status = refused;
    memory.at(record.memory).address = record.base;
    give(record, argument);
  } else if (request == hw::UvmCreateExternalRange::kRequest) {
    auto record = take<hw::UvmCreateExternalRange>(argument);
    record.rm_status = refused;
    give(record, argument);
  }
  return 0;
}

Result<os::Mapping> FakeNvk::map(int descriptor, const os::MapRequest& request) {
  const Memory& one = memory.at(mapped_.at(descriptor));
  return os::Mapping(one.host, request.size, [](void*, u8*, usize) {}, nullptr);
}

void FakeNvk::write(u64 offset, unsigned, u64 value) {
  EXPECT_EQ(offset, hw::kDoorbell);
  rings.push_back(static_cast<u32>(value));
}

}  // namespace doorbell::testing
