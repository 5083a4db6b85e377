// The kernel's /dev/kfd, GPUs without a kernel driver, and the emulated machines', each opened once
// for all devices behind it.
#include "runtime/devices/amd.h"

#include <fmt/format.h>

#include <unistd.h>

#include <map>
#include <mutex>
#include <optional>

#include "base/os/host.h"
#include "base/os/usb.h"
#include "base/util/try.h"
#include "codegen/compile/comgr_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/render/amd_caps.h"
#include "codegen/render/hip_renderer.h"
#include "drivers/amd/device.h"
#include "drivers/amd/kernel/pci/pci_kernel.h"
#include "drivers/amd/settings.h"
#include "runtime/device_table.h"
#include "runtime/emulated/emulated_amd.h"

namespace doorbell::runtime {
namespace {

Result<amd::Options> driver_options(const core::Config& config) {
  TRY(const amd::Settings settings, read_settings<amd::Settings>(setting_values(config)));
  amd::Options options;
  if (settings.aql)
    options.packets = *settings.aql ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  options.sdma = !settings.disable_sdma;
  options.report_waves = settings.report_waves;
  if (!config.lru) options.max_cached = 0;
  options.log_packets = config.debug >= 7;
  return options;
}

// The one Kfd of this process and the kernel behind `files`, for all backends there are and will
// be. A child that was forked is another process, which cannot use its parent's.
Result<std::shared_ptr<amd::Kfd>> kfd_of_process(os::Files& files, const amd::KfdOptions& options) {
  struct All {
    std::mutex mutex;
    std::map<std::pair<const os::Files*, pid_t>, std::shared_ptr<amd::Kfd>> opened;
  };
  static All& all = *new All;
  std::lock_guard lock(all.mutex);
  std::shared_ptr<amd::Kfd>& kfd = all.opened[{&files, getpid()}];
  if (kfd == nullptr) {
    TRY(std::unique_ptr<amd::Kfd> opened, amd::Kfd::open(files, os::host_clock(), options));
    kfd = std::move(opened);
  }
  return kfd;
}

struct OwnGpus {
  std::unique_ptr<amd::PciKernel> kernel;
  std::shared_ptr<amd::Kfd> kfd;
};

// The same of GPUs that this process drives itself, over PCI or behind USB. Never destroyed:
// threads may still wait in it when the process ends, and a queue's end tells the GPU that it is
// left alone.
Result<const OwnGpus*> own_gpus(os::Files& files, bool is_usb) {
  static std::mutex& mutex = *new std::mutex;
  static OwnGpus* const both = new OwnGpus[2];
  std::lock_guard lock(mutex);
  OwnGpus& all = both[is_usb ? 1 : 0];
  if (all.kfd == nullptr) {
    os::Clock& clock = os::host_clock();
    TRY(all.kernel, is_usb ? amd::PciKernel::open_usb(files, os::host_usb(), clock)
                           : amd::PciKernel::open(files, clock));
    TRY(std::unique_ptr<amd::Kfd> opened, amd::Kfd::open(*all.kernel, clock));
    all.kfd = std::move(opened);
  }
  return &all;
}

std::optional<EmulatedDoor> emulated_door(std::string_view iface) {
  if (iface == "EMUKFD") return EmulatedDoor::Kfd;
  if (iface == "EMUPCI") return EmulatedDoor::Pci;
  if (iface == "EMUUSB") return EmulatedDoor::Usb;
  return std::nullopt;
}

}  // namespace

struct AmdBackend::State {
  core::Config config;
  os::Files* kernel = nullptr;
  std::mutex mutex;                          // guards what follows
  std::unique_ptr<EmulatedAmd> emulated[3];  // by EmulatedDoor
};

AmdBackend::AmdBackend(const core::Config& config, os::Files& kernel)
    : state_(std::make_shared<State>()) {
  state_->kernel = &kernel;
  state_->config = config;
}

Result<std::unique_ptr<core::Device>> AmdBackend::open(core::DeviceSpec spec) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  TRY(amd::Options options, driver_options(state.config));
  std::shared_ptr<amd::Kfd> kfd;
  if (spec.iface.empty() || spec.iface == "KFD") {
    TRY(kfd, kfd_of_process(*state.kernel, {.trap_registers = options.report_waves}));
    spec.iface = "KFD";
  } else if (spec.iface == "PCI" || spec.iface == "USB") {
    TRY(const OwnGpus* const own, own_gpus(*state.kernel, spec.iface == "USB"));
    kfd = own->kfd;
    options.host_accesses = own->kernel->host_accesses();
    options.is_apart = spec.iface == "USB";
    options.bridge_buffer = [kernel = own->kernel.get()](u32 id) {
      return kernel->bridge_buffer(id);
    };
    // Waves are not saved there.
    options.report_waves = false;
  } else if (const auto door = emulated_door(spec.iface)) {
    std::unique_ptr<EmulatedAmd>& emulated = state.emulated[static_cast<usize>(*door)];
    if (emulated == nullptr) {
      TRY(const EmulatorSettings settings,
          read_settings<EmulatorSettings>(setting_values(state.config)));
      TRY(emulated, open_emulated_amd(settings, spec.arch, *door));
    }
    kfd = emulated->kfd();
    options.explain = [machine = emulated.get()](u32 gpu_id) {
      return machine->last_fault(gpu_id);
    };
    options.host_accesses = emulated->host_accesses();
    // What takes a GPU a moment takes it minutes.
    constexpr u64 kHour_ns = 3'600'000'000'000;
    options.timeout_ns = kHour_ns;
    // No display depends on it.
    options.report_waves = *door == EmulatedDoor::Kfd;
    options.is_apart = *door == EmulatedDoor::Usb;
    if (options.is_apart)
      options.bridge_buffer = [kernel = emulated->pci()](u32 id) {
        return kernel->bridge_buffer(id);
      };
  } else {
    return fail(ErrorKind::Unsupported, "AMD's interface {} is {}", spec.iface, kNotBuilt);
  }
  TRY(std::unique_ptr<amd::AmdDevice> device,
      amd::AmdDevice::open(std::move(spec), std::move(kfd), options));
  return device;
}

namespace {

// 0 where code is made for NULL, whose GPU nobody has seen.
i64 compute_units(const CodeTarget& target) {
  if (target.device == nullptr) return 0;
  return static_cast<i64>(static_cast<const amd::AmdDevice*>(target.device)->compute_units());
}

// `renderer` as DEV=NULL names it, for the message.
Result<const amd::hw::Chip*> chip_of(const CodeTarget& target, std::string_view renderer) {
  if (target.arch.empty())
    return fail(ErrorKind::Invalid,
                "{} compiles for a chip, as in DEV=NULL:{}:gfx1100; chips are {}", renderer,
                renderer, amd::hw::chip_names());
  const amd::hw::Chip* chip = amd::hw::find_chip(target.arch);
  if (chip == nullptr)
    return fail(ErrorKind::Unsupported, "no code for the chip {}; chips are {}", target.arch,
                amd::hw::chip_names());
  return chip;
}

Result<codegen::Caps> llvm_caps(const CodeTarget& target) {
  TRY(const amd::hw::Chip* chip, chip_of(target, "AMD_LLVM"));
  return codegen::amd_caps(*chip, compute_units(target));
}

Result<codegen::Caps> hip_caps(const CodeTarget& target) {
  TRY(const amd::hw::Chip* chip, chip_of(target, "AMD_HIP"));
  return codegen::hip_caps(*chip, compute_units(target));
}

Result<Toolchain> make_llvm(const CodeTarget& target) {
  TRY(const codegen::Caps caps, llvm_caps(target));
  const codegen::LlvmTarget chip{codegen::LlvmTarget::Family::Amd, target.arch};
  return Toolchain{.renderer = codegen::make_llvm_renderer(caps, chip),
                   .compiler = codegen::make_llvm_compiler(chip)};
}

Result<Toolchain> make_hip(const CodeTarget& target) {
  TRY(const codegen::Caps caps, hip_caps(target));
  Toolchain made{.renderer = codegen::make_hip_renderer(caps)};
  TRY(made.compiler, codegen::make_comgr_compiler(target.arch));
  return made;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  static AmdBackend& backend = *new AmdBackend(config);
  return backend.open(std::move(spec));
}

}  // namespace

DeviceKind amd_kind() {
  DeviceKind kind{.name = "AMD",
                  .interfaces = {"KFD", "PCI", "USB", "EMUKFD", "EMUPCI", "EMUUSB"},
                  .open = open};
  const auto llvm = codegen::has_llvm() ? make_llvm : nullptr;
  kind.renderers = {
      {.name = "LLVM", .make = llvm, .caps = llvm_caps, .null_name = "AMD_LLVM"},
      {.name = "HIP", .make = make_hip, .caps = hip_caps, .null_name = "AMD_HIP"},
  };
  kind.may_be_default = [](const core::Config&) { return true; };
  kind.settings = declared_settings<amd::Settings>();
  for (const DeclaredSetting& setting : declared_settings<EmulatorSettings>())
    kind.settings.push_back(setting);
  return kind;
}

}  // namespace doorbell::runtime
