// TestGpu: kernels on the interpreter and the work groups, without queues, drivers or the kernel's
// door: buffers in a small address space, a code object, a launch, and the results read back.
//
//   TestGpu gpu("gfx1100");
//   u64 out = gpu.allocate(256);
//   TestKernel kernel = gpu.assemble(R"(...)", {.vgprs = 8});
//   GridStop stop = gpu.launch(kernel, {.group_size = {64, 1, 1}}, Arguments().add(out));
//   EXPECT_EQ(gpu.read<u32>(out, 64), ...);
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/check.h"
#include "emulator/amd/compute/grid.h"
#include "emulator/core/address_space.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::testing {

// Of a kernel's arguments, in order, each aligned to its size.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof value - 1) / sizeof value * sizeof value);
    const auto* start = reinterpret_cast<const u8*>(&value);
    bytes_.insert(bytes_.end(), start, start + sizeof value);
    return *this;
  }
  const std::vector<u8>& bytes() const { return bytes_; }

 private:
  std::vector<u8> bytes_;
};

struct TestKernel {
  u64 code = 0;
  u32 rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  u32 lds_bytes = 0, scratch_lane_bytes = 0;
  u16 properties = 0;  // KERNEL_CODE_PROPERTIES
  u32 preload_words = 0;
  bool wave32() const { return (properties >> 10 & 1) != 0; }
};

struct TestLaunch {
  std::array<u32, 3> groups{1, 1, 1}, group_size{64, 1, 1};
  std::array<u32, 3> partial_size{0, 0, 0};
  emu::amdgpu::GridOptions options;
  u32 scratch_waves = 64;
  u32 extra_lds_bytes = 0;  // dynamic LDS
};

class TestGpu {
 public:
  explicit TestGpu(const std::string& chip);

  // Whole pages of zeros, with nothing mapped behind them.
  u64 allocate(u64 bytes, bool writable = true, bool executable = false);
  template <class T>
  u64 buffer(const std::vector<T>& values) {
    u64 va = allocate(values.size() * sizeof(T));
    std::memcpy(host(va), values.data(), values.size() * sizeof(T));
    return va;
  }
  template <class T>
  std::vector<T> read(u64 va, usize count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), host(va), count * sizeof(T));
    return values;
  }
  u8* host(u64 va) const;

  // Errors of the compilers fail a CHECK: a test's text is the test's mistake.
  TestKernel compile(std::string_view ir, const std::string& features = "",
                     std::string_view name = "kernel");
  TestKernel assemble(std::string_view body, const AssemblyOptions& options = {});
  TestKernel place(const std::vector<u8>& object, std::string_view name);

  emu::amdgpu::Dispatch dispatch(const TestKernel& kernel, const TestLaunch& launch,
                                 const Arguments& arguments);
  emu::amdgpu::GridStop launch(const TestKernel& kernel, const TestLaunch& launch,
                               const Arguments& arguments);

  const emu::amdgpu::Chip& chip() const { return *chip_; }
  const emu::AddressSpace& space() const { return space_; }
  emu::amdgpu::CodeCache& code_cache() { return *cache_; }
  emu::amdgpu::Memory& memory() { return memory_; }
  u64 instructions() const { return instructions_; }  // of the last launch
  u64 order_hash() const { return order_hash_; }

 private:
  const emu::amdgpu::Chip* chip_;
  emu::AddressSpace space_;
  emu::amdgpu::DirectMemory memory_;
  std::unique_ptr<emu::amdgpu::CodeCache> cache_;
  std::deque<std::vector<u8>> pages_;
  u64 next_va_ = u64{1} << 32;
  u64 instructions_ = 0, order_hash_ = 0;
};

}  // namespace doorbell::testing
