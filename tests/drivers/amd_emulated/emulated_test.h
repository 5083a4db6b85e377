// Devices of the driver on an emulated machine, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/os/host.h"
#include "drivers/amd/device.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/machine.h"
#include "tests/drivers/amd/compiled_kernel.h"

namespace doorbell::amd {

using core::Buffer;
using core::Ref;

struct EmulatedTest : ::testing::Test {
  std::unique_ptr<emu::amdgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<Kfd> kfd;

  EmulatedTest() { boot({.gpus = {"gfx1100", "gfx1100"}}); }

  // Another machine than two of gfx1100; no device may be open.
  void boot(emu::amdgpu::MachineOptions options) {
    kfd.reset();
    files.reset();
    machine = *emu::amdgpu::Machine::create(std::move(options));
    files = machine->files(os::host_files());
    clock = machine->clock(os::host_clock());
    kfd = *Kfd::open(*files, *clock, {.trap_registers = true});
  }

  std::unique_ptr<AmdDevice> open(int ordinal, Options options = {}) {
    core::DeviceSpec spec;
    spec.name = ordinal == 0 ? "AMD" : fmt::format("AMD:{}", ordinal);
    spec.ordinal = ordinal;
    options.report_waves = true;
    options.explain = [&](u32 gpu_id) { return machine->kfd().last_fault(gpu_id); };
    options.host_accesses = machine->host_accesses();
    return *AmdDevice::open(spec, kfd, options);
  }
};

// A chip as a GPU whose one XCC runs PM4 queues, or, for AQL, as it is.
inline std::string gpu_for(std::string chip, Options::Packets packets) {
  const bool part = packets == Options::Packets::Pm4 && chip == "gfx942";
  return chip + (part ? ":CPX:1" : "");
}

// "gfx1100Aql", for a case with these members.
inline constexpr auto name_of_packets = [](const auto& info) {
  const bool aql = info.param.packets == Options::Packets::Aql;
  return std::string(info.param.gpu) + (aql ? "Aql" : "Pm4");
};

// One GPU, as quick or as weak hardware.
struct OneGpu {
  const char* gpu;
  bool adversarial;
};
inline constexpr OneGpu kOfTwoKinds[] = {
    {"gfx1100", false}, {"gfx1100", true}, {"gfx942", false}, {"gfx942", true}};
inline std::string name_of_case(const ::testing::TestParamInfo<OneGpu>& info) {
  return std::string(info.param.gpu) + (info.param.adversarial ? "Adversarial" : "Fast");
}

}  // namespace doorbell::amd
