// Data in, kernels, data out, through the driver as it ships (scenario.h).
#include "tests/emulator/amd/mutation/scenario.h"

#include <fmt/format.h>

#include <map>

#include "base/os/host.h"
#include "core/device/buffer.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::testing {

namespace {

constexpr u32 kItems = 256, kGroup = 64;

// out[i] = in[i] * %factor + %addend, in groups that take what another group wrote.
constexpr const char* kIr = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @{0}(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %addend) #0 {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 64
  %at = add i32 %base, %lane
  %other = xor i32 %at, 64
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %other
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %at
  %value = load i32, ptr addrspace(1) %from
  %scaled = mul i32 %value, {1}
  %low = trunc i64 %addend to i32
  %sum = add i32 %scaled, %low
  store i32 %sum, ptr addrspace(1) %to
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,64" "amdgpu-no-implicitarg-ptr" }}
)";

// Compiled once: mutants are many.
Result<core::Binary> kernel(const std::string& gpu, const std::string& name, u32 factor) {
  static std::map<std::string, std::vector<u8>> compiled;
  std::vector<u8>& image = compiled[gpu + name];
  if (image.empty()) {
    TRY(image, compile_ir(fmt::format(fmt::runtime(kIr), name, factor), gpu));
  }
  core::Binary binary;
  binary.name = name;
  binary.image = image;
  binary.param_count = 2;
  binary.variable_count = 1;
  binary.global_size[0] = kItems / kGroup;
  binary.local_size[0] = kGroup;
  return binary;
}

// A chain of launches between two buffers, back and forth, with nobody waiting in between.
Result<bool> round(amd::AmdDevice& device, const std::string& gpu, u32 turn, core::Buffer& a,
                   core::Buffer& b) {
  constexpr u32 kChain = 4;
  std::vector<u32> data(kItems), results(kItems);
  for (u32 i = 0; i < kItems; ++i) data[i] = i * 7 + turn * 1000 + 1;
  // Other code at the place of the last round's, which was given back.
  u32 factor = turn % 2 == 0 ? 5 : 9;
  TRY(core::Binary binary, kernel(gpu, turn % 2 == 0 ? "even" : "odd", factor));
  TRY(std::unique_ptr<core::Program> program, device.load(binary));
  TRY(a.copy_in(data.data(), kItems * 4));
  for (u32 i = 0; i < kChain; ++i) {
    core::Buffer& in = i % 2 == 0 ? a : b;
    core::Buffer& out = i % 2 == 0 ? b : a;
    std::vector<core::BufferView> views{{&out, 0}, {&in, 0}};
    std::vector<i64> addends{static_cast<i64>(turn * 100 + i)};
    TRY(program->launch(views, addends));
  }
  TRY(a.copy_out(results.data(), kItems * 4));
  for (u32 i = 0; i < kChain; ++i) {
    std::vector<u32> before = data;
    for (u32 k = 0; k < kItems; ++k) data[k] = before[k ^ kGroup] * factor + turn * 100 + i;
  }
  return data == results;
}

Result<bool> run(emulator::amd::Machine& machine, const ScenarioOptions& options) {
  std::unique_ptr<os::Files> files = machine.files(os::host_files());
  std::unique_ptr<os::Clock> clock = machine.clock(os::host_clock());
  TRY(std::unique_ptr<amd::Kfd> opened, amd::Kfd::open(*files));
  std::shared_ptr<amd::Kfd> kfd = std::move(opened);
  amd::Options driver;
  driver.packets = options.aql ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  driver.clock = clock.get();
  driver.timeout_ns = 20'000'000;
  TRY(std::unique_ptr<amd::AmdDevice> device, amd::AmdDevice::open({.name = "AMD"}, kfd, driver));
  bool right = true;
  {
    TRY(core::Ref<core::Buffer> a, core::Buffer::allocate(*device, kItems * 4));
    TRY(core::Ref<core::Buffer> b, core::Buffer::allocate(*device, kItems * 4));
    for (u32 turn = 0; turn < 3; ++turn) {
      TRY(bool same, round(*device, options.gpu, turn, *a, *b));
      right &= same;
    }
    TRY(device->synchronize());
  }
  return right;
}

}  // namespace

ScenarioResult run_scenario(const ScenarioOptions& options) {
  ScenarioResult result;
  auto machine = emulator::amd::Machine::create({.gpus = {options.gpu},
                                                 .checks = "warn",
                                                 .adversarial = options.adversarial,
                                                 .lockstep = true,
                                                 .seed = options.seed,
                                                 .hook = options.hook,
                                                 .trace = [&](std::string_view line) {
                                                   if (line.find("fault") != line.npos)
                                                     result.faults.emplace_back(line);
                                                 }});
  if (!machine) {
    result.error = machine.error().message;
    return result;
  }
  Result<bool> right = run(**machine, options);
  if (right)
    result.right = *right;
  else
    result.error = right.error().message;
  for (const emulator::Report& report : (*machine)->checks().reports())
    result.reports.push_back(report.check->id + std::string(": ") + report.message);
  return result;
}

}  // namespace doorbell::testing
