// A queue of AQL packets with the descriptor of one kernel, shared by the tests of packets, of
// scratch and of races.
//
// AQL packets: words by hand from the HSA runtime specification 1.2 (2.9) and hsa.h; the queue's
// and the signals' structures from ROCr's amd_hsa_queue.h and amd_hsa_signal.h.
#pragma once

#include <cstring>
#include <vector>

#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {

class AqlTest : public TestGpu {
 protected:
  static constexpr u64 kQueue = kBase + 0x2000;     // amd_queue_t
  static constexpr u64 kSignal = kBase + 0x5000;    // amd_signal_t: value at 8, mailbox 16, id 24
  static constexpr u64 kInactive = kBase + 0x5040;  // queue_inactive_signal
  static constexpr u64 kCode = kBase + 0x6000, kDescriptor = kCode - 0x40;
  static constexpr u64 kArguments = kBase + 0x7000;

  void open_aql(GpuOptions options = {.generation = hw::Generation::Gfx10},
                Level level = Level::Error) {
    std::memset(host(kRing), 0, kRingBytes);
    for (u64 va = kRing; va < kRing + kRingBytes; va += 64) poke<u16>(va, 1);  // INVALID
    open(options, QueueKind::Aql, level);
    // write_dispatch_id at 56, read_dispatch_id at 128 with its offset behind it.
    gpu_->remove_queue(queue_).value();
    description_.read_pointer = kQueue + 128, description_.write_pointer = kQueue + 56;
    poke<u32>(kQueue + 136, 128);
    poke<u64>(kQueue + 128, 0);
    poke<u64>(kQueue + 56, 0);
    poke<u64>(kQueue + 192, kInactive);  // queue_inactive_signal
    queue_ = gpu_->add_queue(description_).value();
    put_ = 0;

    // The descriptor: 16 bytes of arguments, entry 0x40 behind it, RSRC2 with 2 user SGPRs, kernarg
    // pointer enabled, waves of 32. [LLVM AMDGPUUsage "Code Object V3 Kernel Descriptor"]
    poke<u32>(kDescriptor + 8, 16);
    poke<u64>(kDescriptor + 16, 0x40);
    poke<u32>(kDescriptor + 48, 0x600f0000);
    poke<u32>(kDescriptor + 52, 2 << 1);
    poke<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }

  void put(const std::vector<u32>& packet) {
    for (u32 i = 0; i < 16; ++i) poke<u32>(kRing + put_ * 64 % kRingBytes + i * 4, packet[i]);
    ++put_;
    poke<u64>(kQueue + 56, put_);
  }
  // Words 1 and 3 of the scratch's buffer, as clients write them. [ROCr amd_aql_queue.cpp
  // FillBufRsrcWord1(), _Gfx11(), FillBufRsrcWord3(), _Gfx10(), _Gfx11()]
  void tell_buffer(hw::Generation generation) {
    const bool gfx11 = generation >= hw::Generation::Gfx11;
    poke<u32>(kQueue + 148, gfx11 ? 1u << 30 : 1u << 31);
    poke<u32>(kQueue + 156, generation == hw::Generation::Gfx9 ? 0x00ea4fac
                            : gfx11                            ? 0x20814fac
                                                               : 0x21814fac);
  }
  // A packet of the vendor's that jumps to these words.
  void put_pm4(const std::vector<u32>& words, u64 signal = 0) {
    put_words(kIb, words);
    std::vector<u32> packet{0x1500 | 1 << 16,
                            0xc0023f00,
                            lo(kIb),
                            hi(kIb),
                            static_cast<u32>(words.size()) | 1 << 23,
                            10};
    packet.resize(16);
    packet[14] = lo(signal), packet[15] = hi(signal);
    put(packet);
  }
  void ring() {
    gpu_->ring(queue_, put_ - 1);
    gpu_->run_until_idle();
  }

  // Type 2, barrier bit 8, fences of system scope; a grid of 100 x 3 in groups of 32.
  static std::vector<u32> dispatch(u64 signal, bool barrier = false) {
    u32 header = 2 | (barrier ? 1 << 8 : 0) | 2 << 9 | 2 << 11;
    return {header | 2u << 16,
            32 | 1 << 16,
            1,
            100,
            3,
            1,
            0,
            0,
            lo(kDescriptor),
            hi(kDescriptor),
            lo(kArguments),
            hi(kArguments),
            0,
            0,
            lo(signal),
            hi(signal)};
  }
  static std::vector<u32> barrier(u32 type, u64 a, u64 b, u64 signal) {
    return {type, 0, lo(a), hi(a), lo(b), hi(b), 0, 0, 0, 0, 0, 0, 0, 0, lo(signal), hi(signal)};
  }
};

}  // namespace doorbell::emu::amdgpu
