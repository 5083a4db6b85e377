// DeviceKind: all that the rest of the program knows about a kind of device, in one record: its
// name, how one is opened, and what makes code for it. Kinds of the tree stand in devices/, one
// file each; a program adds kinds of its own with add_device_kind (extension.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/util/setting.h"
#include "codegen/compile/compiler.h"
#include "codegen/render/renderer.h"
#include "core/device/device.h"

namespace doorbell::core {
struct Config;
}

namespace doorbell::runtime {

// The values of the settings that kinds of devices declare, for read_settings().
const SettingValues& setting_values(const core::Config& config);

// What makes code for a device. Its Caps are the renderer's.
struct Toolchain {
  std::unique_ptr<codegen::Renderer> renderer;
  std::unique_ptr<codegen::Compiler> compiler;  // null: kernels are rendered and never run
  // True where the compiler makes objects for the host, which are loaded into this process. False
  // where Device::load takes the image.
  bool loads_here = false;
};

// What code is made for.
struct CodeTarget {
  core::Device* device;  // of the renderer's kind; null for NULL's, which never runs the code
  std::string arch;      // "gfx1100": of the device, or what DEV says; may be empty
};

struct RendererKind {
  std::string name;  // "LLVM", as in DEV=AMD:LLVM
  // Null where this version has no such renderer.
  std::function<Result<Toolchain>(const CodeTarget&)> make;
  // What the renderer and the target declare. Targets of equal Caps and arch share a toolchain;
  // where this is null, all targets of equal arch do.
  std::function<Result<codegen::Caps>(const CodeTarget&)> caps = nullptr;
  // Whether each device has a compiler of its own, so that devices never share one.
  bool is_per_device = false;
  // As in DEV=NULL:AMD_LLVM, where another kind's renderer has the same name; empty: `name`.
  std::string null_name = "";
  // The compiler behind it on this machine, for people: "NVRTC 13.0 in /usr/..."; fails where a
  // part is missing. Null where none can be.
  std::function<Result<std::string>()> describe = nullptr;

  const std::string& name_for_null() const { return null_name.empty() ? name : null_name; }
};

struct DeviceKind {
  std::string name;  // "AMD", as in DEV=AMD and Tensor::to("AMD:1")
  // As in DEV=EMUKFD+AMD, in the order of `doorbell devices`; empty: there is nothing to choose.
  std::vector<std::string> interfaces = {};
  // The first that is built is the default. A kind without renderers computes nothing (DISK): DEV
  // and `doorbell devices` leave it out.
  std::vector<RendererKind> renderers = {};
  // Opens the device that the spec describes; `config` are the settings that the runtime started
  // with. Null where the kind is named only, and not part of this version.
  std::function<Result<std::unique_ptr<core::Device>>(core::DeviceSpec spec,
                                                      const core::Config& config)>
      open = nullptr;
  // Whether a program whose DEV names no device may get this one: such kinds are tried in the
  // order of the table until one opens. Null: never.
  std::function<bool(const core::Config& config)> may_be_default = nullptr;
  // Its environment variables, as in declared_settings<cpu::Settings>(). open() and the renderers
  // read their values with read_settings(setting_values(config)).
  std::vector<DeclaredSetting> settings = {};
  // Whether it has the renderers of all other kinds too (NULL).
  bool has_all_renderers = false;

  bool computes() const { return !renderers.empty() || has_all_renderers; }
};

}  // namespace doorbell::runtime
