// The objects of a GPU, from the device to the doorbell.
#include "drivers/nv/kernel/nvk_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "drivers/nv/hw/host/user_control.h"

namespace doorbell::nv {
namespace {

using hw::ClassId;

// The newest first.
constexpr ClassId kUsermode[] = {ClassId::BlackwellUsermodeA, ClassId::HopperUsermodeA,
                                 ClassId::AmpereUsermodeA, ClassId::TuringUsermodeA};
constexpr ClassId kChannel[] = {ClassId::BlackwellChannelGpfifoB, ClassId::BlackwellChannelGpfifoA,
                                ClassId::HopperChannelGpfifoA, ClassId::AmpereChannelGpfifoA};
constexpr ClassId kCompute[] = {ClassId::BlackwellComputeB, ClassId::BlackwellComputeA,
                                ClassId::HopperComputeA,    ClassId::AdaComputeA,
                                ClassId::AmpereComputeB,    ClassId::AmpereComputeA};
constexpr ClassId kCopy[] = {ClassId::BlackwellDmaCopyB, ClassId::BlackwellDmaCopyA,
                             ClassId::HopperDmaCopyA, ClassId::AmpereDmaCopyB,
                             ClassId::AmpereDmaCopyA};

Result<ClassId> choose(std::span<const ClassId> known, const std::vector<u32>& classes,
                       const char* what, const std::string& node) {
  for (const ClassId one : known)
    if (std::ranges::find(classes, static_cast<u32>(one)) != classes.end()) return one;
  return fail(ErrorKind::Unsupported,
              "{} has no {} class that is known: of its {} classes none is {} to {}; GPUs from "
              "Ampere to Blackwell are supported",
              node, what, classes.size(), name_of(known.back()), name_of(known.front()));
}

}  // namespace

// RM's numbers of SMs go on as NVIDIA's architectures do but for Blackwell. [tinygrad ops_nv.py
// NVDevice]
std::string GpuShape::chip() const {
  if (sm_version == 0xa04) return "sm_120";
  const u32 major = sm_version >> 8 & 0xff, minor = sm_version & 0xff;
  return fmt::format("sm_{}{}", major, minor > 0xf ? minor >> 4 : minor);
}

u8 GpuShape::sass_version() const {
  return static_cast<u8>((sm_version & 0xf00) >> 4 | (sm_version & 0xf));
}

NvkGpu::NvkGpu(Nvk& nvk, const hw::CardInfo& card)
    : nvk_(nvk), card_(card), node_(fmt::format("/dev/nvidia{}", card.minor_number)) {}

Result<std::unique_ptr<NvkGpu>> NvkGpu::open(Nvk& nvk, const hw::CardInfo& card) {
  std::unique_ptr<NvkGpu> gpu(new NvkGpu(nvk, card));
  TRY(gpu->file_, nvk.client().open_node(gpu->node_));
  TRY(gpu->make_objects());
  TRY(gpu->choose_classes());
  TRY(gpu->read_shape());
  TRY(gpu->join_uvm());
  TRY(gpu->map_doorbells());
  return gpu;
}

// RM frees the objects in the opposite order of their making, after UVM has let go of them.
NvkGpu::~NvkGpu() {
  doorbells_ = {};
  if (has_va_space_) {
    hw::UvmUnregisterGpuVaSpace leave{.gpu_uuid = uuid_};
    (void)nvk_.uvm().call(leave);
  }
  if (is_registered_) {
    hw::UvmUnregisterGpu leave{.gpu_uuid = uuid_};
    (void)nvk_.uvm().call(leave);
  }
}

Result<void> NvkGpu::make_objects() {
  RmClient& client = nvk_.client();
  hw::GetIdInfo info{.gpu_id = card_.gpu_id};
  TRY(client.control(client.handle(), info));
  TRY(device_, make_object(client, client.handle(), hw::DeviceParameters::kClass,
                           hw::DeviceParameters{.device_id = info.device_instance,
                                                .client_share = client.handle()},
                           "a device"));
  TRY(subdevice_, make_object(client, device_.handle(), hw::SubdeviceParameters::kClass,
                              hw::SubdeviceParameters{}, "a subdevice"));
  // All of the addresses are UVM's. [open-gpu-kernel-modules nv_gpu_ops.c]
  constexpr u64 kVaBase = 0x1000, kVaSize = 0x1fffffb000000;
  TRY(va_space_, make_object(client, device_.handle(), hw::VaSpaceParameters::kClass,
                             hw::VaSpaceParameters{
                                 .flags = hw::VaSpaceParameters::kExternallyOwned |
                                          hw::VaSpaceParameters::kEnablePageFaulting,
                                 .va_size = kVaSize,
                                 .va_base = kVaBase,
                             },
                             "an address space"));
  return {};
}

Result<void> NvkGpu::choose_classes() {
  RmClient& client = nvk_.client();
  hw::GetClasslist count;
  TRY(client.control(device(), count));
  std::vector<u32> classes(count.num_classes);
  hw::GetClasslist list{.num_classes = count.num_classes,
                        .class_list = reinterpret_cast<u64>(classes.data())};
  TRY(client.control(device(), list));
  TRY(classes_.usermode, choose(kUsermode, classes, "usermode", node_));
  TRY(classes_.channel, choose(kChannel, classes, "channel", node_));
  TRY(classes_.compute, choose(kCompute, classes, "compute", node_));
  TRY(classes_.copy, choose(kCopy, classes, "copy", node_));
  return {};
}

Result<void> NvkGpu::read_shape() {
  using enum hw::GrInfo;
  struct Pair {
    hw::GrInfo index;
    u32 data = 0;
  };
  std::array<Pair, 5> pairs = {{{SmVersion}, {Gpcs}, {TpcsPerGpc}, {SmsPerTpc}, {MaxWarpsPerSm}}};
  hw::GetGrInfo info{.list_size = static_cast<u32>(pairs.size()),
                     .list = reinterpret_cast<u64>(pairs.data())};
  TRY(nvk_.client().control(subdevice(), info));
  shape_ = {pairs[0].data, pairs[1].data, pairs[2].data, pairs[3].data, pairs[4].data};
  if (shape_.sms() == 0 || shape_.warps_per_sm == 0)
    return fail(ErrorKind::Unsupported, "{} reports {} SMs of {} warps", node_, shape_.sms(),
                shape_.warps_per_sm);
  return {};
}

Result<void> NvkGpu::join_uvm() {
  hw::GetGidInfo gid{.flags = hw::GetGidInfo::kBinary};
  gid.length = static_cast<u32>(uuid_.size());
  TRY(nvk_.client().control(subdevice(), gid));
  std::copy_n(gid.data.begin(), uuid_.size(), uuid_.begin());
  hw::UvmRegisterGpu join{.gpu_uuid = uuid_};
  TRY(nvk_.uvm().call(join));
  is_registered_ = true;
  hw::UvmRegisterGpuVaSpace space{.gpu_uuid = uuid_,
                                  .rm_ctrl_fd = nvk_.client().descriptor(),
                                  .client = nvk_.client().handle(),
                                  .va_space = va_space()};
  TRY(nvk_.uvm().call(space));
  has_va_space_ = true;
  return {};
}

Result<void> NvkGpu::map_doorbells() {
  RmClient& client = nvk_.client();
  const auto class_id = static_cast<u32>(classes_.usermode);
  if (classes_.usermode >= ClassId::HopperUsermodeA) {
    // Through BAR1 the doorbell stays behind our writes to video memory. [clc661.h; tests of
    // open-gpu-kernel-modules kern_bus_gh100.c say that BAR0's does not]
    TRY(usermode_, make_object(client, subdevice(), class_id,
                               hw::HopperUsermodeParameters{.bar1_mapping = true}, "a doorbell"));
  } else {
    TRY(usermode_, make_object(client, subdevice(), class_id, "a doorbell"));
  }
  TRY(doorbell_file_, client.open_node(node_));
  hw::RmMapMemory map;
  map.params = {.client = client.handle(),
                .device = device(),
                .memory = usermode_.handle(),
                .length = hw::kUsermodeBytes};
  map.fd = doorbell_file_->descriptor();
  TRY(client.escape_checked(map, "the doorbell"));
  os::MapRequest request;
  request.size = hw::kUsermodeBytes;
  request.writable = true;
  request.inherited = false;
  TRY(doorbells_, doorbell_file_->map_registers(request));
  return {};
}

}  // namespace doorbell::nv
