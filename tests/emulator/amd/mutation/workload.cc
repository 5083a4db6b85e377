// The kernels, and the order of things.
#include "tests/emulator/amd/mutation/workload.h"

#include <absl/strings/str_replace.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/os/host.h"
#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/device.h"
#include "emulator/amd/machine.h"
#include "hcq/graph/graph.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::testing {
namespace {

// What is behind the numbers of a kernel shows whether it stays within its bounds.
constexpr i64 kCount = 512, kPlaces = 576, kBytes = kPlaces * 4;
constexpr u32 kUntouched = 0xdb000000;
// Pairs of kernels in a graph: the third reads what the first two have read before it changed.
constexpr int kPairs = 3;
// What one kernel leaves in the registers must not do for the other.
constexpr i64 kAddItems = 128, kTurnItems = 64;
struct Shape {
  std::array<i64, 3> groups, items;
};
constexpr Shape kAddShape{{4, 1, 1}, {kAddItems, 1, 1}}, kTurnShape{{2, 2, 2}, {16, 2, 2}};
// A buffer's, behind the numbers of kernels: nobody writes there.
constexpr i64 kRoomBytes = 8192;
// Wave instructions: a grid of the kernels' has a few hundred.
constexpr u64 kLongestGrid = 20'000;
// Virtual time: a run takes well under a millisecond of it, unless a wait ends by its timeout.
constexpr u64 kTimeout_ns = 50'000'000, kLongest_ns = 20'000'000;

// before: out[i] = 5 * in[i], through a private array, and then gives its place in memory to
// others. add: out[i] = in[i] + x, through a private array. turn: out[i] = 3 * in[i'] with i'
// counted from the group's end, through local memory and a larger private array. It wants more
// registers, is longer, has other modes than the others and three dimensions, and adds 1000 for
// each unit of local memory that its group has more than it wants.
constexpr const char* kCommon = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
declare i32 @llvm.amdgcn.s.getreg(i32 immarg)
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "amdgpu-flat-work-group-size"="128,128" }
attributes #1 = { "amdgpu-flat-work-group-size"="64,64" "denormal-fp-math-f32"="preserve-sign" }
attributes #2 = { "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr"
  "amdgpu-no-dispatch-id" "amdgpu-no-hostcall-ptr" "amdgpu-no-heap-ptr"
  "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-multigrid-sync-arg"
  "amdgpu-no-lds-kernel-id" }
attributes #3 = { "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z"
  "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" }
)";

constexpr const char* kBefore = R"(
define amdgpu_kernel void @before(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 #2 #3 {
  %array = alloca [16 x i32], addrspace(5)
  call void asm sideeffect "", "~{v20}"()
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 128
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %slot = and i32 %value, 15
  %mine = getelementptr [16 x i32], ptr addrspace(5) %array, i32 0, i32 %slot
  store volatile i32 %value, ptr addrspace(5) %mine
  %kept = load volatile i32, ptr addrspace(5) %mine
  %result = mul i32 %kept, 5
  store i32 %result, ptr addrspace(1) %to
  ret void
}
)";

constexpr const char* kKernels = R"(
@local = internal addrspace(3) global [64 x i64] poison

define amdgpu_kernel void @add(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %x) #0 #2 #3 {
  %array = alloca [16 x i32], addrspace(5)
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 128
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %slot = and i32 %value, 15
  %mine = getelementptr [16 x i32], ptr addrspace(5) %array, i32 0, i32 %slot
  store volatile i32 %value, ptr addrspace(5) %mine
  %kept = load volatile i32, ptr addrspace(5) %mine
  %x32 = trunc i64 %x to i32
  %sum = add i32 %kept, %x32
  store i32 %sum, ptr addrspace(1) %to
  ret void
}

define amdgpu_kernel void @turn(ptr addrspace(1) %out, ptr addrspace(1) %in) #1 #2 {
  %array = alloca [64 x i32], addrspace(5)
  call void asm sideeffect "", "~{v40}"()
  %item.x = call i32 @llvm.amdgcn.workitem.id.x()
  %item.y = call i32 @llvm.amdgcn.workitem.id.y()
  %item.z = call i32 @llvm.amdgcn.workitem.id.z()
  %row = mul i32 %item.y, 16
  %plane = mul i32 %item.z, 32
  %in.plane = add i32 %item.x, %row
  %item = add i32 %in.plane, %plane
  %group.x = call i32 @llvm.amdgcn.workgroup.id.x()
  %group.y = call i32 @llvm.amdgcn.workgroup.id.y()
  %group.z = call i32 @llvm.amdgcn.workgroup.id.z()
  %group.plane = mul i32 %group.z, 4
  %group.line = mul i32 %group.y, 2
  %group.row = add i32 %group.x, %group.line
  %group = add i32 %group.row, %group.plane
  %base = mul i32 %group, 64
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %slot = and i32 %value, 63
  %mine = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %slot
)";
// So often, for the size of the code is in one of the registers.
constexpr const char* kStore = R"(
  store volatile i32 %value, ptr addrspace(5) %mine)";
constexpr int kStores = 24;

constexpr const char* kAfterStores = R"(
  %here = getelementptr [64 x i64], ptr addrspace(3) @local, i32 0, i32 %item
  %kept = load volatile i32, ptr addrspace(5) %mine
  %wide = zext i32 %kept to i64
  store i64 %wide, ptr addrspace(3) %here
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %other = sub i32 63, %item
  %there = getelementptr [64 x i64], ptr addrspace(3) @local, i32 0, i32 %other
  %theirs = load i64, ptr addrspace(3) %there
  %low = trunc i64 %theirs to i32
  %tripled = mul i32 %low, 3
  %units = call i32 @llvm.amdgcn.s.getreg(i32 17158)
  %more = sub i32 %units, UNITS
  %much = mul i32 %more, 1000
  %result = add i32 %tripled, %much
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %result, ptr addrspace(1) %to
  ret void
}
)";

using Numbers = std::array<u32, kPlaces>;

// Of HW_REG_LDS_ALLOC, 9 bits from bit 12 on, of a group of 512 bytes: it counts 256 bytes, on
// gfx12 512; gfx950 gives 1280 at a time. [linux cwsr_trap_handler_gfx9.asm, _gfx12.asm
// get_lds_size_bytes; LLVM AMDGPUUsage GRANULATED_LDS_SIZE]
const char* local_units(const std::string& chip) {
  if (chip == "gfx950") return "5";
  return chip.starts_with("gfx12") ? "1" : "2";
}

using Room = std::array<u32, kRoomBytes / sizeof(u32)>;

// Each buffer's is its own.
Room untouched_room(u32 buffer) {
  Room room;
  room.fill(kUntouched + 1 + buffer);
  return room;
}

Numbers numbers_of(u32 round) {
  Numbers numbers;
  numbers.fill(kUntouched);
  for (u32 i = 0; i < kCount; ++i) numbers[i] = i * 7 + round * 1000;
  return numbers;
}

Numbers added(Numbers numbers, u32 x) {
  for (u32 i = 0; i < kCount; ++i) numbers[i] += x;
  return numbers;
}

Numbers turned(const Numbers& numbers) {
  Numbers result = numbers;
  for (u32 i = 0; i < kCount; ++i)
    result[i] = 3 * numbers[i / kTurnItems * kTurnItems + kTurnItems - 1 - i % kTurnItems];
  return result;
}

Numbers add_and_turn(const Numbers& numbers, u32 x) { return turned(added(numbers, x)); }

std::string difference(const char* where, u32 round, const Numbers& got, const Numbers& wanted) {
  for (u32 i = 0; i < kPlaces; ++i)
    if (got[i] != wanted[i])
      return fmt::format("{} of round {}: number {} is {}, not {}", where, round, i, got[i],
                         wanted[i]);
  return {};
}

// The machine's time. While `sleeps`, who polls memory does not see it change: only interrupts
// wake the host.
class WorkloadClock final : public os::Clock {
 public:
  explicit WorkloadClock(os::Clock& machine) : machine_(machine) {}
  // A poll that never ends is stopped soon.
  u64 now_ns() override { return machine_.now_ns() + kAsking_ns * ++asked_; }
  void sleep_until(u64 time_ns) override { machine_.sleep_until(time_ns); }
  void relax(u32 turn) override {
    if (!sleeps) machine_.relax(turn);
  }
  bool sleeps = false;

 private:
  static constexpr u64 kAsking_ns = 2000;
  os::Clock& machine_;
  u64 asked_ = 0;
};

using Memory = core::Ref<core::Buffer>;
using KernelPtr = std::unique_ptr<core::Program>;

class Run {
 public:
  Run(amd::AmdDevice& device, const WorkloadCode& code, WorkloadClock& clock)
      : device_(device), code_(code), clock_(clock) {}

  // What is wrong, or nothing.
  Result<std::string> run() {
    const u64 start = clock_.now_ns();
    Numbers nothing;
    nothing.fill(kUntouched);
    clock_.sleeps = true;
    for (u32 i = 0; i < kBuffers; ++i) {
      TRY(*buffers_[i], core::Buffer::allocate(device_, kRoomBytes));
      const Room room = untouched_room(i);
      TRY((*buffers_[i])->copy_in(room.data(), kRoomBytes));
    }
    TRY(out_->copy_in(nothing.data(), kBytes));
    using Phase = Result<std::string> (Run::*)();
    std::string wrong;
    for (Phase phase : {&Run::before, &Run::eager, &Run::written, &Run::replayed, &Run::after}) {
      if (!wrong.empty()) break;
      TRY(wrong, (this->*phase)());
    }
    TRY(device_.synchronize());
    if (wrong.empty()) {
      TRY(wrong, find_touched());
    }
    if (wrong.empty() && clock_.now_ns() - start > kLongest_ns)
      wrong = "a wait ended by its timeout";
    return wrong;
  }

 private:
  Result<KernelPtr> load(const std::vector<u8>& image, const char* name, const Shape& shape,
                         u32 variables) {
    core::Binary binary{.image = image};
    std::ranges::copy(shape.groups, std::begin(binary.grid_groups));
    std::ranges::copy(shape.items, std::begin(binary.group_items));
    binary.name = name;
    binary.param_count = 2;
    binary.variable_count = variables;
    return device_.load(binary);
  }
  Result<void> launch(const KernelPtr& kernel, const Memory& out, const Memory& in,
                      std::span<const i64> variables = {}) {
    return kernel->launch(std::array{core::BufferView{out.get()}, core::BufferView{in.get()}},
                          variables);
  }

  // What lies behind the numbers. The copies' own interrupts end them.
  Result<std::string> find_touched() {
    clock_.sleeps = true;
    for (u32 i = 0; i < kBuffers; ++i) {
      Room got;
      TRY((*buffers_[i])->copy_out(got.data(), kRoomBytes));
      const Room wanted = untouched_room(i);
      for (u32 at = kPlaces; at < got.size(); ++at)
        if (got[at] != wanted[at])
          return fmt::format("behind buffer {}: number {} is {:#x}, not {:#x}", i, at, got[at],
                             wanted[at]);
    }
    // Who closes a queue polls its read pointer: nothing interrupts behind the last TRAP.
    clock_.sleeps = false;
    return std::string();
  }

  // A kernel that goes again; others will be in its place.
  Result<std::string> before() {
    TRY(const KernelPtr kernel, load(code_.before, "before", kAddShape, 0));
    const Numbers numbers = numbers_of(9);
    TRY(in_->copy_in(numbers.data(), kBytes));
    TRY(launch(kernel, out_, in_));
    TRY(device_.synchronize());
    Numbers got, wanted = numbers;
    TRY(out_->copy_out(got.data(), kBytes));
    clock_.sleeps = false;
    for (u32 i = 0; i < kCount; ++i) wanted[i] *= 5;
    return difference("the first kernel", 0, got, wanted);
  }

  // Launch by launch.
  Result<std::string> eager() {
    TRY(add_, load(code_.kernels, "add", kAddShape, 1));
    TRY(turn_, load(code_.kernels, "turn", kTurnShape, 0));
    for (u32 round = 0; round < 2; ++round) {
      const Numbers numbers = numbers_of(round);
      TRY(in_->copy_in(numbers.data(), kBytes));
      TRY(launch(add_, middle_, in_, std::array<i64, 1>{round + 5}));
      TRY(launch(turn_, out_, middle_));
      // In place: a group that runs twice shows.
      TRY(launch(add_, out_, out_, std::array<i64, 1>{3}));
      TRY(launch(turn_, out_, out_));
      Numbers got;
      TRY(out_->copy_out(got.data(), kBytes));
      std::string wrong =
          difference("launches", round, got, add_and_turn(add_and_turn(numbers, round + 5), 3));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  }

  // In one submission, twice: what the command processor writes over what kernels have read and
  // written before is what the next kernel reads.
  Result<std::string> written() {
    const std::unique_ptr<hcq::CommandBuffer> commands = device_.compute_queue().make_commands();
    const auto write = [&](const Memory& memory, Numbers& numbers, u32 i, u32 first, u32 second) {
      numbers[i] = first, numbers[i + 1] = second;
      commands->write(memory->memory().address + i * sizeof(u32), first | u64{second} << 32);
      commands->memory_barrier();
    };
    const auto go = [&](const KernelPtr& kernel, const Memory& out, const Memory& in,
                        std::span<const hcq::Operand> variables) {
      const std::array<hcq::Operand, 2> buffers{out->memory().address, in->memory().address};
      commands->exec({.program = kernel.get(), .buffers = buffers, .variables = variables});
      commands->memory_barrier();
    };
    Numbers numbers = numbers_of(1), middle, wanted;
    for (u32 round = 0; round < 2; ++round) {
      write(in_, numbers, 8 + 2 * round, round + 100, round + 200);
      go(add_, middle_, in_, std::array<hcq::Operand, 1>{u64{round + 5}});
      middle = added(numbers, round + 5);
      write(middle_, middle, 132, round + 300, round + 400);
      go(turn_, out_, middle_, {});
      wanted = turned(middle);
    }
    TRY(const hcq::Point point, device_.compute_queue().submit(*commands));
    TRY(point.queue->wait(point.position));
    Numbers got;
    TRY(out_->copy_out(got.data(), kBytes));
    return difference("launches behind writes", 0, got, wanted);
  }

  // The same twice over and recorded, with a copy before and after by the other queue.
  Result<std::string> replayed() {
    hcq::Graph graph;
    const hcq::Operand x = graph.slot();
    const auto place = [&](const Memory& buffer) {
      return graph.memory(graph.storage(), 0, kBytes, hcq::GpuAddr{buffer->memory().address});
    };
    const u32 from = place(far_), hop = place(hop_), in = place(in_), middle = place(middle_),
              out = place(out_);
    // Two copies that depend on each other.
    graph.copy(device_.copy_queue(), hop, from, kBytes);
    graph.copy(device_.copy_queue(), in, hop, kBytes);
    for (int pair = 0; pair < kPairs; ++pair) {
      const u32 source = pair == 0 ? in : out;
      graph.exec(device_.compute_queue(),
                 {.program = add_.get(),
                  .name = "add",
                  .buffers = {{middle, hcq::Access::Write}, {source, hcq::Access::Read}},
                  .variables = {x}});
      graph.exec(device_.compute_queue(),
                 {.program = turn_.get(),
                  .name = "turn",
                  .buffers = {{out, hcq::Access::Write}, {middle, hcq::Access::Read}}});
    }
    graph.copy(device_.copy_queue(), from, out, kBytes);
    TRY(graph.bind());
    for (u32 round = 2; round < 4; ++round) {
      const Numbers numbers = numbers_of(round);
      TRY(far_->copy_in(numbers.data(), kBytes));
      clock_.sleeps = round == 3;
      TRY(const hcq::Fence done, graph.replay(std::array<u64, 1>{round}));
      TRY(done.wait());
      Numbers got;
      TRY(far_->copy_out(got.data(), kBytes));
      clock_.sleeps = false;
      Numbers wanted = numbers;
      for (int pair = 0; pair < kPairs; ++pair) wanted = add_and_turn(wanted, round);
      std::string wrong = difference("replays", round, got, wanted);
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  }

  // Two launches whose end only their own interrupt signals.
  Result<std::string> after() {
    clock_.sleeps = true;
    TRY(launch(add_, middle_, in_, std::array<i64, 1>{7}));
    TRY(launch(turn_, out_, middle_));
    TRY(device_.synchronize());
    Numbers got;
    TRY(out_->copy_out(got.data(), kBytes));
    clock_.sleeps = false;
    return difference("the last launches", 0, got, add_and_turn(numbers_of(3), 7));
  }

  amd::AmdDevice& device_;
  const WorkloadCode& code_;
  WorkloadClock& clock_;
  static constexpr u32 kBuffers = 5;
  Memory in_, middle_, out_, far_, hop_;
  const std::array<Memory*, kBuffers> buffers_{&in_, &middle_, &out_, &far_, &hop_};
  KernelPtr add_, turn_;
};

Result<std::string> open_and_run(const Workload& workload, const WorkloadCode& code,
                                 emu::amdgpu::Machine& machine) {
  std::unique_ptr<os::Files> files = machine.files(os::host_files());
  if (workload.wrap) files = workload.wrap(std::move(files));
  const std::unique_ptr<os::Clock> machine_clock = machine.clock(os::host_clock());
  WorkloadClock clock(*machine_clock);
  TRY(std::unique_ptr<amd::Kfd> kfd, amd::Kfd::open(*files, clock));
  amd::Options options;
  options.packets = workload.aql ? amd::Options::Packets::Aql : amd::Options::Packets::Pm4;
  options.timeout_ns = kTimeout_ns;
  core::DeviceSpec spec;
  spec.name = "AMD";
  TRY(const std::unique_ptr<amd::AmdDevice> device,
      amd::AmdDevice::open(spec, std::shared_ptr<amd::Kfd>(std::move(kfd)), options));
  return Run(*device, code, clock).run();
}

}  // namespace

Result<WorkloadCode> compile_workload(const std::string& chip) {
  WorkloadCode code;
  TRY(code.before, compile_ir(std::string(kCommon) + kBefore, chip));
  std::string kernels = std::string(kCommon) + kKernels;
  for (int i = 0; i < kStores; ++i) kernels += kStore;
  const std::string after = absl::StrReplaceAll(kAfterStores, {{"UNITS", local_units(chip)}});
  TRY(code.kernels, compile_ir(kernels + after, chip));
  return code;
}

Outcome run_workload(const Workload& workload, const WorkloadCode& code,
                     emu::amdgpu::PacketHook* hook) {
  // PM4 is for one XCC.
  const bool part = !workload.aql && workload.chip == "gfx942";
  auto machine = emu::amdgpu::Machine::create({.gpus = {workload.chip + (part ? ":CPX:1" : "")},
                                               .checks = "error",
                                               .adversarial = workload.adversarial,
                                               .lockstep = true,
                                               .hang_after = kLongestGrid,
                                               .seed = workload.seed,
                                               .hook = hook,
                                               .trace = workload.trace});
  return outcome_of(std::move(machine),
                    [&](emu::amdgpu::Machine& made) { return open_and_run(workload, code, made); });
}

}  // namespace doorbell::testing
