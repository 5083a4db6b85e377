// The kernels, and the order of things.
#include "tests/emulator/amd/mutation/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/os/host.h"
#include "base/util/check.h"
#include "drivers/amd/device.h"
#include "emulator/amd/machine.h"
#include "hcq/graph/graph.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::testing {
namespace {

constexpr i64 kGroups = 3, kItems = 64, kCount = kGroups * kItems, kBytes = kCount * 4;
// Virtual time: a run takes well under a millisecond of it.
constexpr u64 kTimeout_ns = 5'000'000;

// add: out[i] = in[i] + x.
// turn: out[i] = 3 * in[i'] with i' counted from the group's end, through local memory, and a
// private array that is indexed by data.
constexpr const char* kKernels = R"(
target triple = "amdgcn-amd-amdhsa"
@local = internal addrspace(3) global [64 x i32] poison

define amdgpu_kernel void @add(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %x) #0 {
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 64
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %x32 = trunc i64 %x to i32
  %sum = add i32 %value, %x32
  store i32 %sum, ptr addrspace(1) %to
  ret void
}

define amdgpu_kernel void @turn(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {
  %array = alloca [16 x i32], addrspace(5)
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 64
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %slot = and i32 %value, 15
  %mine = getelementptr [16 x i32], ptr addrspace(5) %array, i32 0, i32 %slot
  store volatile i32 %value, ptr addrspace(5) %mine
  %here = getelementptr [64 x i32], ptr addrspace(3) @local, i32 0, i32 %item
  %kept = load volatile i32, ptr addrspace(5) %mine
  store i32 %kept, ptr addrspace(3) %here
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %other = sub i32 63, %item
  %there = getelementptr [64 x i32], ptr addrspace(3) @local, i32 0, i32 %other
  %theirs = load i32, ptr addrspace(3) %there
  %result = mul i32 %theirs, 3
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %result, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" "amdgpu-no-implicitarg-ptr"
  "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" "amdgpu-no-workgroup-id-y"
  "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z"
  "amdgpu-no-hostcall-ptr" "amdgpu-no-heap-ptr" "amdgpu-no-completion-action"
  "amdgpu-no-default-queue" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-lds-kernel-id" }
)";

using Numbers = std::array<u32, kCount>;

Numbers numbers_of(u32 round) {
  Numbers numbers;
  for (u32 i = 0; i < kCount; ++i) numbers[i] = i * 7 + round * 1000;
  return numbers;
}

Numbers expected_of(u32 round, u32 x) {
  const Numbers numbers = numbers_of(round);
  Numbers result;
  for (u32 i = 0; i < kCount; ++i)
    result[i] = 3 * (numbers[i / kItems * kItems + kItems - 1 - i % kItems] + x);
  return result;
}

std::string difference(const char* where, u32 round, const Numbers& got, const Numbers& wanted) {
  for (u32 i = 0; i < kCount; ++i)
    if (got[i] != wanted[i])
      return fmt::format("{} of round {}: number {} is {}, not {}", where, round, i, got[i],
                         wanted[i]);
  return {};
}

struct Kernels {
  std::unique_ptr<core::Program> add, turn;
};

Result<Kernels> load(amd::AmdDevice& device, const std::vector<u8>& code) {
  core::Binary binary{.image = code, .global_size = {kGroups, 1, 1}, .local_size = {kItems, 1, 1}};
  Kernels kernels;
  binary.name = "add";
  binary.param_count = 2;
  binary.variable_count = 1;
  TRY(kernels.add, device.load(binary));
  binary.name = "turn";
  binary.variable_count = 0;
  TRY(kernels.turn, device.load(binary));
  return kernels;
}

using Memory = core::Ref<core::Buffer>;

// Launch by launch.
Result<std::string> eager(const Kernels& kernels, std::span<const Memory, 3> memory) {
  const Memory &in = memory[0], &middle = memory[1], &out = memory[2];
  for (u32 round = 0; round < 2; ++round) {
    const Numbers numbers = numbers_of(round);
    TRY(in->copy_in(numbers.data(), kBytes));
    TRY(kernels.add->launch(std::array{core::BufferView{middle.get()}, core::BufferView{in.get()}},
                            std::array<i64, 1>{round + 5}));
    TRY(kernels.turn->launch(
        std::array{core::BufferView{out.get()}, core::BufferView{middle.get()}}, {}));
    Numbers got;
    TRY(out->copy_out(got.data(), kBytes));
    std::string wrong = difference("launches", round, got, expected_of(round, round + 5));
    if (!wrong.empty()) return wrong;
  }
  return std::string();
}

// The same recorded, with a copy before and after by the other queue.
Result<std::string> replayed(amd::AmdDevice& device, const Kernels& kernels,
                             std::span<const Memory, 3> memory, const Memory& far) {
  hcq::Graph graph;
  const hcq::Operand x = graph.slot();
  const auto place = [&](const Memory& buffer) {
    return graph.memory(graph.storage(), 0, kBytes, hcq::GpuAddr{buffer->memory().address});
  };
  const u32 from = place(far), in = place(memory[0]), middle = place(memory[1]),
            out = place(memory[2]);
  graph.copy(device.copy_queue(), in, from, kBytes);
  graph.exec(device.compute_queue(),
             {.program = kernels.add.get(),
              .name = "add",
              .buffers = {{middle, hcq::Access::Write}, {in, hcq::Access::Read}},
              .variables = {x}});
  graph.exec(device.compute_queue(),
             {.program = kernels.turn.get(),
              .name = "turn",
              .buffers = {{out, hcq::Access::Write}, {middle, hcq::Access::Read}}});
  graph.copy(device.copy_queue(), from, out, kBytes);
  TRY(graph.bind());
  for (u32 round = 2; round < 4; ++round) {
    const Numbers numbers = numbers_of(round);
    TRY(far->copy_in(numbers.data(), kBytes));
    TRY(const hcq::Fence done, graph.replay(std::array<u64, 1>{round}));
    TRY(done.wait());
    Numbers got;
    TRY(far->copy_out(got.data(), kBytes));
    std::string wrong = difference("replays", round, got, expected_of(round, round));
    if (!wrong.empty()) return wrong;
  }
  return std::string();
}

Result<std::string> run(amd::AmdDevice& device, const std::vector<u8>& code) {
  TRY(const Kernels kernels, load(device, code));
  std::array<Memory, 3> memory;
  for (Memory& one : memory) {
    TRY(one, core::Buffer::allocate(device, kBytes));
  }
  TRY(const Memory far, core::Buffer::allocate(device, kBytes));
  TRY(std::string wrong, eager(kernels, memory));
  if (wrong.empty()) {
    TRY(wrong, replayed(device, kernels, memory, far));
  }
  TRY(device.synchronize());
  return wrong;
}

Result<std::string> open_and_run(const Workload& workload, const std::vector<u8>& code,
                                 emulator::amd::Machine& machine) {
  const std::unique_ptr<os::Files> files = machine.files(os::host_files());
  const std::unique_ptr<os::Clock> clock = machine.clock(os::host_clock());
  TRY(std::unique_ptr<amd::Kfd> kfd, amd::Kfd::open(*files));
  amd::Options options;
  options.packets = workload.aql ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  options.timeout_ns = kTimeout_ns;
  options.clock = clock.get();
  core::DeviceSpec spec;
  spec.name = "AMD";
  TRY(const std::unique_ptr<amd::AmdDevice> device,
      amd::AmdDevice::open(spec, std::shared_ptr<amd::Kfd>(std::move(kfd)), options));
  return run(*device, code);
}

}  // namespace

std::string Outcome::why() const {
  if (!broken.empty()) return broken.front();
  return error.empty() ? wrong : error;
}

Result<std::vector<u8>> compile_workload(const std::string& chip) {
  return compile_ir(kKernels, chip);
}

Outcome run_workload(const Workload& workload, const std::vector<u8>& code,
                     emulator::amd::PacketHook* hook) {
  Outcome outcome;
  auto machine = emulator::amd::Machine::create({.gpus = {workload.chip},
                                                 .checks = "error",
                                                 .adversarial = workload.adversarial,
                                                 .lockstep = true,
                                                 .seed = workload.seed,
                                                 .hook = hook,
                                                 .trace = workload.trace});
  if (!machine) {
    outcome.error = to_string(machine.error());
    return outcome;
  }
  Result<std::string> wrong = open_and_run(workload, code, **machine);
  if (wrong)
    outcome.wrong = *wrong;
  else
    outcome.error = to_string(wrong.error());
  for (const emulator::Report& report : (*machine)->checks().reports())
    outcome.broken.push_back(emulator::to_string(report));
  return outcome;
}

}  // namespace doorbell::testing
