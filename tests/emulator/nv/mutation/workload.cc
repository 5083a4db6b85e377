// The order of things. The kernel, tests/fuzz/corpus/nv_cubin/generic_*, is this one as NVRTC 13.2
// compiles it: out[block][i] = in[block][63 - i] * k. Run in place, a block that runs twice shows.
// Its shared memory is, with the 1 KiB that CUDA reserves, as large as a configuration; that and an
// array of the thread's own are read by generic addresses, so that both windows count.
//
//   extern "C" __global__ void __launch_bounds__(64) scale(float* out, const float* in, float k) {
//     __shared__ float tile[64 * 124];
//     float own[8];
//     const unsigned i = threadIdx.x, at = blockIdx.x * 64 + i, which = i >> 1 & 7;
//     if (((blockDim.x ^ 64) | (blockDim.y ^ 1) | (blockDim.z ^ 1) | (gridDim.x ^ 3) |
//          (gridDim.y ^ 1) | (gridDim.z ^ 1)) != 0)
//       return;
//     tile[i * 124 + 123] = in[at];
//     own[which ^ 3] = 0;
//     __syncthreads();
//     const float* from = tile + (63 - i) * 124 + 123;
//     if (i % 2 != 0) {
//       own[which] = *from;
//       from = own + which;
//     }
//     out[at] = *(const volatile float*)from * k;
//   }
#include "tests/emulator/nv/mutation/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/os/host.h"
#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/nv/device.h"
#include "emulator/nv/machine.h"
#include "hcq/graph/graph.h"
#include "tests/support/golden.h"

namespace doorbell::testing {
namespace {

// Behind the numbers of the kernel lie others that it leaves, and then some that copies leave.
constexpr usize kBlocks = 3, kThreads = 64, kCount = kBlocks * kThreads, kPlaces = kCount + 32;
constexpr i64 kBytes = kPlaces * sizeof(f32);
// Virtual time: a run takes well under a millisecond, unless a wait ends by its timeout.
// A warp of the kernel executes a few dozen instructions.
constexpr u64 kLongestKernel = 2000;
constexpr u64 kTimeout_ns = 50'000'000, kLongest_ns = 20'000'000;

using Numbers = std::array<f32, kPlaces>;
using Memory = core::Ref<core::Buffer>;
using Kernel = std::unique_ptr<core::Program>;

Numbers numbers_from(f32 first) {
  Numbers numbers;
  numbers.fill(-first);
  std::iota(numbers.begin(), numbers.begin() + kCount, first);
  return numbers;
}

Numbers scaled(const Numbers& in, f32 k) {
  Numbers out = in;
  for (usize i = 0; i < kCount; ++i)
    out[i] = in[i / kThreads * kThreads + kThreads - 1 - i % kThreads] * k;
  return out;
}

std::string difference(const char* where, const Numbers& got, const Numbers& wanted) {
  for (usize i = 0; i < kPlaces; ++i)
    if (got[i] != wanted[i])
      return fmt::format("{}: number {} is {}, not {}", where, i, got[i], wanted[i]);
  return {};
}

// EXIT, which then stalls for 4 cycles, not 5.
void change_exit(std::vector<u8>& image) {
  constexpr u8 kExit[] = {0x4d, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x03, 0, 0xea, 0x0f, 0};
  const auto found = std::search(image.begin(), image.end(), std::begin(kExit), std::end(kExit));
  CHECK(found != image.end(), "the kernel has no EXIT");
  found[13] = 0xe8;
}

class Run {
 public:
  Run(nv::NvDevice& device, const NvWorkload& workload) : device_(device), workload_(workload) {}

  // What is wrong, or nothing.
  Result<std::string> run() {
    for (Memory* memory : {&in_, &middle_, &far_}) {
      TRY(*memory, core::Buffer::allocate(device_, 2 * kBytes));
      TRY((*memory)->copy_in(tail_of(memory).data(), 2 * kBytes));
    }
    using Phase = Result<std::string> (Run::*)();
    std::string wrong;
    for (Phase phase : {&Run::launched, &Run::replayed, &Run::launched}) {
      if (!wrong.empty()) break;
      TRY(wrong, (this->*phase)());
    }
    for (Memory* memory : {&in_, &middle_, &far_}) {
      if (!wrong.empty()) break;
      std::array<f32, 2 * kPlaces> got;
      TRY((*memory)->copy_out(got.data(), 2 * kBytes));
      if (!std::equal(got.begin() + kPlaces, got.end(), tail_of(memory).begin() + kPlaces))
        wrong = "memory behind a copy changed";
    }
    TRY(device_.synchronize());
    return wrong;
  }

 private:
  // What lies behind the numbers of a buffer: other bytes than behind those of the others.
  std::array<f32, 2 * kPlaces> tail_of(const Memory* memory) const {
    u32 bits = memory == &in_ ? 0x4111'1111 : memory == &far_ ? 0x4222'2222 : 0x4333'3333;
    std::array<f32, 2 * kPlaces> numbers;
    for (f32& number : numbers) number = std::bit_cast<f32>(bits++);
    return numbers;
  }
  // What the kernel makes of the buffer whose last numbers it leaves.
  Numbers into_middle(Numbers numbers) const {
    std::copy(kept_.begin() + kCount, kept_.end(), numbers.begin() + kCount);
    return numbers;
  }
  // `is_other`: the same with another wait before its end, so that it is seen which code ran.
  Result<Kernel> load(bool is_other) {
    const std::string bytes = read_source("tests/fuzz/corpus/nv_cubin/generic_" + workload_.chip);
    core::Binary binary;
    binary.name = "scale";
    binary.image.assign(bytes.begin(), bytes.end());
    if (is_other) change_exit(binary.image);
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = kBlocks;
    binary.group_items[0] = kThreads;
    return device_.load(binary);
  }
  Result<void> launch(const Kernel& kernel, const Memory& out, const Memory& in, f32 k) {
    const core::BufferView views[] = {{out.get(), 0}, {in.get(), 0}};
    const i64 variables[] = {std::bit_cast<i32>(k)};
    return kernel->launch(views, variables);
  }

  // Launch by launch, twice: what a cache kept of the first round is wrong in the second.
  Result<std::string> launched() {
    TRY(const Kernel kernel, load(false));
    for (f32 round = 1; round <= 2; ++round) {
      const Numbers numbers = numbers_from(round * 100);
      TRY(in_->copy_in(numbers.data(), kBytes));
      TRY(middle_->copy_in(kept_.data(), kBytes));
      TRY(launch(kernel, middle_, in_, round + 1));
      TRY(launch(kernel, middle_, middle_, 3));
      Numbers got;
      TRY(middle_->copy_out(got.data(), kBytes));
      std::string wrong =
          difference("launches", got, into_middle(scaled(scaled(numbers, round + 1), 3)));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  }

  // Recorded: a copy by the other queue, three kernels of which each needs the one before it, and a
  // copy back.
  Result<std::string> replayed() {
    TRY(const Kernel kernel, load(true));
    hcq::Graph graph;
    const hcq::Operand k = graph.slot();
    const auto place = [&](const Memory& memory) {
      return graph.memory(graph.storage(), 0, kBytes, hcq::GpuAddr{memory->memory().address});
    };
    const u32 far = place(far_), in = place(in_), middle = place(middle_);
    graph.copy(device_.copy_queue(), in, far, kBytes);
    const auto exec = [&](u32 to, u32 from) {
      graph.exec(device_.compute_queue(),
                 {.program = kernel.get(),
                  .name = "scale",
                  .buffers = {{to, hcq::Access::Write}, {from, hcq::Access::Read}},
                  .variables = {k}});
    };
    exec(middle, in);
    exec(in, middle);
    exec(middle, in);
    graph.copy(device_.copy_queue(), far, middle, kBytes);
    TRY(graph.bind());
    for (f32 round = 2; round <= 3; ++round) {
      const Numbers numbers = numbers_from(round * 10);
      TRY(far_->copy_in(numbers.data(), kBytes));
      const u64 values[] = {std::bit_cast<u32>(round)};
      TRY(const hcq::Fence done, graph.replay(values));
      TRY(done.wait());
      Numbers got, wanted = numbers;
      TRY(far_->copy_out(got.data(), kBytes));
      for (int i = 0; i < 3; ++i) wanted = scaled(wanted, round);
      std::string wrong = difference("replays", got, into_middle(wanted));
      if (!wrong.empty()) return wrong;
    }
    return std::string();
  }

  nv::NvDevice& device_;
  const NvWorkload& workload_;
  const Numbers kept_ = numbers_from(9);
  Memory in_, middle_, far_;
};

Result<std::string> open_and_run(const NvWorkload& workload, emu::nvgpu::Machine& machine) {
  std::unique_ptr<os::Files> files = machine.files(os::host_files());
  if (workload.wrap) files = workload.wrap(std::move(files));
  const std::unique_ptr<os::Clock> clock = machine.clock(os::host_clock());
  const u64 start = clock->now_ns();
  TRY(std::shared_ptr<nv::Nvk> nvk, nv::Nvk::open(*files, *clock));
  core::DeviceSpec spec;
  spec.name = "NV";
  nv::Options options;
  options.timeout_ns = kTimeout_ns;
  std::string wrong;
  {
    TRY(const std::unique_ptr<nv::NvDevice> device, nv::NvDevice::open(spec, nvk, options));
    TRY(wrong, Run(*device, workload).run());
  }
  if (wrong.empty() && clock->now_ns() - start > kLongest_ns) wrong = "a wait ended by its timeout";
  return wrong;
}

}  // namespace

Outcome run_nv_workload(const NvWorkload& workload) {
  auto machine = emu::nvgpu::Machine::create({.gpus = workload.chip,
                                              .checks = "error",
                                              .adversarial = workload.adversarial,
                                              .lockstep = true,
                                              .hang_after = kLongestKernel,
                                              .seed = workload.seed,
                                              .hook = workload.hook,
                                              .trace = workload.trace});
  return outcome_of(std::move(machine),
                    [&](emu::nvgpu::Machine& made) { return open_and_run(workload, made); });
}

}  // namespace doorbell::testing
