// Device: one thing that runs kernels, as the engine sees it. Drivers implement it; the Registry
// opens and owns devices; which renderer and compiler serve it is the composition root's choice,
// told to the device when it is opened and read back by the engine.
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
  std::string iface;         // the interface asked for, or empty: the first that opens
  std::vector<int> indices;  // of the interface's devices, those to be seen, in order; empty: all
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
  // Waits for all launched work; the place where its errors are reported.
  virtual Result<void> synchronize() = 0;
  // False where programs are compiled but never run, so that contents mean nothing.
  virtual bool runs() const { return true; }
  // True where it puts what runs into the process's trace itself, with its own times.
  virtual bool traces() const { return false; }
  // Workers behind a kernel's threads.
  virtual int threads() const { return 1; }
  // "2 threads, AVX-512": for people.
  virtual std::string description() const = 0;

 private:
  DeviceSpec spec_;
};

}  // namespace doorbell::core
