// The kernel descriptor's fields: [LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor"]; the
// scratch buffer's: [RDNA2 ISA, "Buffer resource descriptor"].
#include "tests/emulator/support/test_gpu.h"

#include "base/util/check.h"
#include "emulator/amd/isa/handlers.h"
#include "tests/emulator/support/code_object.h"

namespace doorbell::testing {

using namespace emu::amdgpu;  // NOLINT: this file is about it

namespace {

constexpr u64 kPage = emu::AddressSpace::kPage;

template <class T>
T at(const u8* bytes, usize offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

u32 round_up(u32 value, u32 multiple) { return (value + multiple - 1) / multiple * multiple; }

// The part of an AQL packet that kernels read: sizes of the group and the grid.
std::vector<u8> dispatch_packet(const TestLaunch& launch) {
  std::vector<u8> packet(64);
  for (usize i = 0; i < 3; ++i) {
    const u16 group = static_cast<u16>(launch.group_size[i]);
    const u32 last = launch.partial_size[i] != 0 ? launch.partial_size[i] : launch.group_size[i];
    const u32 grid = (launch.groups[i] - 1) * launch.group_size[i] + last;
    std::memcpy(&packet[4 + i * 2], &group, 2);
    std::memcpy(&packet[12 + i * 4], &grid, 4);
  }
  return packet;
}

}  // namespace

TestGpu::TestGpu(const std::string& chip) : chip_(find_chip(chip)), memory_(space_) {
  CHECK(chip_ != nullptr, "no chip {}", chip);
  auto cache = CodeCache::create(*chip_, handler_set());
  CHECK(cache, "{}", cache.error().message);
  cache_ = std::move(*cache);
}

u64 TestGpu::allocate(u64 bytes, bool writable, bool executable) {
  const u64 size = (bytes + kPage - 1) / kPage * kPage;
  // Aligned as pages are, so that atomics are.
  std::vector<u8>& storage = pages_.emplace_back(size + kPage);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  u8* host = storage.data() + (kPage - address % kPage) % kPage;
  const u64 va = next_va_;
  next_va_ += size + 16 * kPage;
  auto mapped = space_.map(va, size, host, writable, executable, {}, 0);
  CHECK(mapped, "{}", mapped.error().message);
  return va;
}

u8* TestGpu::host(u64 va) const {
  u8* host = space_.at(va, 1, false);
  CHECK(host != nullptr, "nothing at {:#x}", va);
  return host;
}

TestKernel TestGpu::compile(std::string_view ir, const std::string& features,
                            std::string_view name) {
  auto object = compile_ir(ir, std::string(chip_->name), features);
  CHECK(object, "{}", object.error().message);
  return place(*object, name);
}

TestKernel TestGpu::assemble(std::string_view body, const AssemblyOptions& options) {
  const std::string chip(chip_->name);
  const bool both = chip_->wave32 && chip_->wave64;
  auto object =
      testing::assemble(assembly_kernel(chip, body, options), chip,
                        both && options.wave64 ? "-wavefrontsize32,+wavefrontsize64" : "");
  CHECK(object, "{}", object.error().message);
  return place(*object, "kernel");
}

TestKernel TestGpu::place(const std::vector<u8>& object, std::string_view name) {
  const u64 va = next_va_;
  auto placed = place_code(object, name, va);
  CHECK(placed, "{}", placed.error().message);
  CHECK_EQ(allocate(placed->image.size(), false, true), va);
  std::memcpy(host(va), placed->image.data(), placed->image.size());
  const u8* descriptor = placed->image.data() + placed->descriptor;
  return {.code = va + placed->descriptor + at<u64>(descriptor, 16),
          .rsrc1 = at<u32>(descriptor, 48),
          .rsrc2 = at<u32>(descriptor, 52),
          .rsrc3 = at<u32>(descriptor, 44),
          .lds_bytes = at<u32>(descriptor, 0),
          .scratch_lane_bytes = at<u32>(descriptor, 4),
          .properties = at<u16>(descriptor, 56),
          .preload_words = at<u16>(descriptor, 58) & 0x7fu};
}

Dispatch TestGpu::dispatch(const TestKernel& kernel, const TestLaunch& launch,
                           const Arguments& arguments) {
  Dispatch dispatch{.kernel = "kernel",
                    .code = kernel.code,
                    .rsrc1 = kernel.rsrc1,
                    .rsrc2 = kernel.rsrc2,
                    .rsrc3 = kernel.rsrc3,
                    .wave32 = kernel.wave32() && chip_->wave32,
                    .groups = launch.groups,
                    .group_size = launch.group_size,
                    .partial_size = launch.partial_size};
  dispatch.lds_bytes = round_up(kernel.lds_bytes + launch.extra_lds_bytes, chip_->lds_granule);
  UserSgprSources sources;
  sources.kernel_arguments = arguments.bytes().empty() ? 0 : buffer(arguments.bytes());
  sources.dispatch_packet = buffer(dispatch_packet(launch));
  const u32 lanes = dispatch.wave32 ? 32 : 64;
  if (kernel.scratch_lane_bytes > 0) {
    dispatch.scratch_wave_bytes = round_up(kernel.scratch_lane_bytes * lanes, 1024);
    dispatch.scratch_waves = launch.scratch_waves;
    dispatch.scratch_base = allocate(u64{dispatch.scratch_wave_bytes} * dispatch.scratch_waves);
    sources.flat_scratch_init = dispatch.scratch_base;
    sources.private_segment_bytes = kernel.scratch_lane_bytes;
    constexpr u32 kSwizzle = 1u << 31, kAddThreadId = 1u << 23, kNeverOutside = 2u << 28;
    const u32 index_stride = dispatch.wave32 ? 2 : 3;                          // 32 or 64 lanes
    const u32 element = chip_->generation == Generation::Gfx9 ? 1u << 19 : 0;  // 4 bytes
    sources.private_segment_buffer = {static_cast<u32>(dispatch.scratch_base),
                                      static_cast<u32>(dispatch.scratch_base >> 32) | kSwizzle,
                                      0xffffffff,
                                      index_stride << 21 | kAddThreadId | kNeverOutside | element};
  }
  std::vector<u32> preload(kernel.preload_words);
  std::memcpy(preload.data(), arguments.bytes().data(),
              std::min(preload.size() * 4, arguments.bytes().size()));
  dispatch.user_sgprs = user_sgprs(kernel.properties, sources, preload);
  return dispatch;
}

GridStop TestGpu::launch(const TestKernel& kernel, const TestLaunch& launch,
                         const Arguments& arguments) {
  Grid grid(*chip_, *cache_, memory_, dispatch(kernel, launch, arguments), launch.options);
  GridStop stop = grid.run();
  instructions_ = grid.instructions();
  order_hash_ = grid.order_hash();
  return stop;
}

}  // namespace doorbell::testing
