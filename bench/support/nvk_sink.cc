// Answers that are enough for the driver to run.
#include "bench/support/nvk_sink.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"

namespace doorbell::bench {
namespace {

namespace hw = nv::hw;

constexpr std::string_view kDriver = "580.95.05", kChip = "sm_86";
constexpr hw::DriverAbi kAbi = hw::DriverAbi::R580;

template <class Record>
Record take(const void* at) {
  const auto* bytes = static_cast<const std::byte*>(at);
  return *hw::unpack<Record>({bytes, hw::packed_size<Record>(kAbi)}, kAbi);
}
template <class Record>
void give(const Record& record, void* at) {
  const std::vector<std::byte> bytes = hw::pack(record, kAbi);
  std::memcpy(at, bytes.data(), bytes.size());
}

void control(const hw::RmControl& request) {
  void* const at = reinterpret_cast<void*>(request.params);
  if (request.cmd == hw::GetBuildVersion::kCommand) {
    hw::GetBuildVersion answer;
    std::ranges::copy(kDriver, answer.driver_version.begin());
    give(answer, at);
  } else if (request.cmd == hw::GetClasslist::kCommand) {
    const hw::ChipClasses& chip = *hw::find_classes(kChip);
    const std::array known{static_cast<u32>(chip.usermode), static_cast<u32>(chip.channel),
                           static_cast<u32>(chip.compute), static_cast<u32>(chip.copy)};
    auto list = take<hw::GetClasslist>(at);
    list.num_classes = static_cast<u32>(known.size());
    if (list.class_list != 0) std::ranges::copy(known, reinterpret_cast<u32*>(list.class_list));
    give(list, at);
  } else if (request.cmd == hw::GetGrInfo::kCommand) {
    const auto info = take<hw::GetGrInfo>(at);
    auto* pairs = reinterpret_cast<std::array<u32, 2>*>(info.list);
    for (u32 i = 0; i < info.list_size; ++i) {
      switch (static_cast<hw::GrInfo>(pairs[i][0])) {
        case hw::GrInfo::SmVersion: pairs[i][1] = 0x806; break;
        case hw::GrInfo::MaxWarpsPerSm: pairs[i][1] = 48; break;
        case hw::GrInfo::Gpcs: pairs[i][1] = 7; break;
        case hw::GrInfo::TpcsPerGpc: pairs[i][1] = 6; break;
        default: pairs[i][1] = 2;
      }
    }
  }
}

class NvkNode final : public SinkNode {
 public:
  NvkNode(int descriptor, bool is_uvm) : descriptor_(descriptor), is_uvm_(is_uvm) {}

  Result<int> ioctl(unsigned long request, void* argument) override {
    if (is_uvm_) return 0;
    if ((request & 0xff) == hw::CardInfo::kEscape) {
      give(hw::CardInfo{.valid = true, .gpu_id = 0x100}, argument);
    } else if ((request & 0xff) == hw::RmAlloc::kEscape) {
      auto record = take<hw::RmAlloc>(argument);
      record.object_new = ++handles_;
      give(record, argument);
    } else if ((request & 0xff) == hw::RmControl::kEscape) {
      control(take<hw::RmControl>(argument));
    }
    return 0;
  }
  int descriptor() const override { return descriptor_; }

 private:
  const int descriptor_;
  const bool is_uvm_;
  u32 handles_ = 0;
};

}  // namespace

Result<std::unique_ptr<os::File>> NvkSink::open(const std::string& path, os::Access) {
  constexpr int kDescriptor = 100;
  return std::make_unique<NvkNode>(kDescriptor, path == "/dev/nvidia-uvm");
}

nv::NvDevice& NvkSink::open() {
  core::DeviceSpec spec;
  spec.name = "NV";
  device_ = *nv::NvDevice::open(spec, *nv::Nvk::open(*this, *this), {});
  return *device_;
}

}  // namespace doorbell::bench
