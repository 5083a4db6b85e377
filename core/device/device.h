// Device: what runs kernels, as the engine sees it. Drivers implement it; the Registry opens and
// owns devices. runtime/ chooses the renderer and the compiler when it opens the device, and the
// engine reads that choice from the spec.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device/allocator.h"
#include "core/device/program.h"

namespace doorbell::core {

// What a device was opened as.
struct DeviceSpec {
  std::string name;          // "CPU", "CPU:1": as users see it
  u16 index = 0;             // the Registry's number for it
  int ordinal = 0;           // the 1 of "CPU:1"
  std::string iface;         // the requested interface, or empty: the first that opens
  std::vector<int> indices;  // visible devices of the interface, in order; empty: all
  std::string renderer;      // "LLVM"; names a row of the runtime's table
  std::string arch;          // "x86_64,avx2", or empty: as found
};

class Device {
 public:
  explicit Device(DeviceSpec spec) : spec_(std::move(spec)) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  u16 index() const { return spec_.index; }

  virtual Allocator& allocator() = 0;
  virtual Result<std::unique_ptr<Program>> load(const Binary& binary) = 0;
  // Waits for all launched work and reports its errors.
  virtual Result<void> synchronize() = 0;
  // False if programs are compiled but never run, so that contents are undefined.
  virtual bool runs() const { return true; }
  // Worker threads that run the parts of a kernel.
  virtual int threads() const { return 1; }
  // "2 threads, AVX-512": for display.
  virtual std::string description() const = 0;

 private:
  DeviceSpec spec_;
};

}  // namespace doorbell::core
