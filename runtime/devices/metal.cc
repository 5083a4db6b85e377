// METAL: Apple's GPUs, and MSL, which Metal compiles itself.
#include <memory>
#include <mutex>

#include "base/util/try.h"
#include "codegen/render/metal_renderer.h"
#include "core/util/config.h"
#include "drivers/metal/device.h"
#include "drivers/metal/settings.h"
#include "runtime/device_kind.h"
#include "runtime/device_memory.h"
#include "runtime/devices/source_compiler.h"
#include "runtime/emulated/emulated_metal.h"

namespace doorbell::runtime {
namespace {

// Of a device of ours; for NULL, those of an Apple silicon Mac with macOS 14.
Result<codegen::Caps> caps_of(const CodeTarget& target) {
  codegen::MetalTraits traits;
  traits.bfloat = traits.matrices = true;
  if (target.device != nullptr) {
    const metal::DeviceInfo& info = static_cast<const metal::MetalDevice*>(target.device)->info();
    traits.bfloat = info.bfloat;
    traits.matrices = info.apple7;
    traits.group_bytes = info.group_bytes;
  }
  return codegen::metal_caps(traits);
}

Result<Toolchain> make(const CodeTarget& target) {
  TRY(codegen::Caps caps, caps_of(target));
  Toolchain made{.renderer = codegen::make_metal_renderer(caps)};
  if (target.device != nullptr) {
    const auto& device = static_cast<const metal::MetalDevice&>(*target.device);
    made.compiler = std::make_unique<SourceCompiler<metal::MetalDevice>>(
        *target.device, "MSL; " + device.info().name, "Metal");
  }
  return made;
}

// The emulated runtime, which is one for the process.
Result<const metal::Api*> emulated_api(const core::Config& config) {
  static std::mutex& mutex = *new std::mutex;
  static const metal::Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    TRY(const EmulatorSettings settings, read_settings<EmulatorSettings>(setting_values(config)));
    TRY(const metal::FindSymbol find, open_emulated_metal(settings));
    TRY(std::unique_ptr<const metal::Api> loaded, metal::load_api(find, "the emulated Metal"));
    api = loaded.release();
  }
  return api;
}

Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec, const core::Config& config) {
  TRY(const metal::Settings settings, read_settings<metal::Settings>(setting_values(config)));
  metal::Options options;
  options.bfloat = settings.bfloat;
  options.indirect = settings.icb;
  options.max_cached = max_cached_host_bytes(config);
  options.trace = hcq::Trace::of_process();
  const metal::Api* api = nullptr;
  if (spec.iface == "EMUMETAL") {
    TRY(api, emulated_api(config));
  } else {
    TRY(api, metal::load_api());
    spec.iface = "APPLE";
  }
  TRY(std::unique_ptr<metal::MetalDevice> device,
      metal::open_device(std::move(spec), *api, options));
  return device;
}

}  // namespace

// No default yet: no Mac has run it.
DeviceKind metal_kind() {
  DeviceKind kind{.name = "METAL",
                  .interfaces = {"APPLE", "EMUMETAL"},
                  .open = open,
                  .settings = declared_settings<metal::Settings>()};
  kind.renderers = {{.name = "MSL", .make = make, .caps = caps_of, .is_per_device = true}};
  return kind;
}

}  // namespace doorbell::runtime
