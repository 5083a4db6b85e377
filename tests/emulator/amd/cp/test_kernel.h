// A kernel for tests that dispatch by PM4: its descriptor, arguments, and the words that launch it.
// For the meaning of the words see rules_test.cc and aql_test.cc.
#pragma once

#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {

class KernelTestGpu : public TestGpu {
 protected:
  static constexpr u64 kCode = kBase + 0x6000, kDescriptor = kCode - 0x40;
  static constexpr u64 kArguments = kBase + 0x7000;  // 16 bytes

  // SET_SH_REG (0x76) of the group's size, entry, resources and user data, DISPATCH_DIRECT (0x15).
  static std::vector<u32> dispatch(u64 arguments = kArguments) {
    return {0xc0037600,
            0x207,
            32,
            1,
            1,
            0xc0027600,
            0x20c,
            lo(kCode >> 8),
            hi(kCode >> 8),
            0xc0027600,
            0x212,
            0x600f0000,
            2 << 1,
            0xc0027600,
            0x240,
            lo(arguments),
            hi(arguments),
            0xc0031500,
            1,
            1,
            1,
            1 | 1 << 2 | 1 << 15};
  }
  static constexpr u32 kDispatchWords = 22;

  // Behind what was written before; nothing runs yet.
  void write_and_ring(const std::vector<u32>& words) {
    put_words(kRing + put_ * 4, words);
    put_ += words.size();
    poke<u64>(kWritePointer, put_);
    gpu_->ring(queue_, put_);
  }
  void put_kernel() {
    poke<u32>(kDescriptor + 8, 16);
    poke<u64>(kDescriptor + 16, 0x40);
    poke<u32>(kDescriptor + 48, 0x600f0000);
    poke<u32>(kDescriptor + 52, 2 << 1);
    poke<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }
  void open_with_kernel(GpuOptions options = {}, Level level = Level::Error) {
    put_kernel();
    put_ = 0;
    open(options, QueueKind::Pm4, level);
  }
};

}  // namespace doorbell::emu::amdgpu
