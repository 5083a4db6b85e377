// Devices from outside this library: a program tells the runtime about them before its first
// tensor, and from then on DEV, the registry and the engine know them as they know our own.
// docs/adding-a-backend.md walks through one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codegen/compile/compiler.h"
#include "codegen/render/renderer.h"
#include "core/device/device.h"

namespace doorbell::runtime {

// What makes code for a device. Its Caps are the renderer's.
struct Toolchain {
  std::unique_ptr<codegen::Renderer> renderer;
  std::unique_ptr<codegen::Compiler> compiler;
};

struct DeviceKind {
  std::string name;      // "ABACUS", as in DEV=ABACUS:1
  std::string renderer;  // its renderer's, which no other device has: DEV=ABACUS:ABACUS
  std::function<Result<std::unique_ptr<core::Device>>(core::DeviceSpec)> open;
  // Asked once for all devices of the kind.
  std::function<Result<Toolchain>(const core::Device&)> make_toolchain;
};

// Fails for a name that is taken, and once the runtime has started. Never the default device unless
// DEV says so.
//
// Thread safety: may be called from any thread.
Result<void> add_device_kind(DeviceKind kind);

// The kind that was added with a renderer of this name; null where there is none.
const DeviceKind* added_kind(std::string_view renderer);

}  // namespace doorbell::runtime
