// TestWave: one wave whose registers a test sets, a few instructions in assembly, and the registers
// afterwards. For single instructions; for kernels with arguments and groups see test_gpu.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/run.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/core/address_space.h"

namespace doorbell::testing {

// A T at any address: lanes reach memory where no host type may lie.
template <class T>
struct [[gnu::packed]] Unaligned {
  T value;

  // NOLINTNEXTLINE(google-explicit-constructor): it is a T.
  operator T() const { return value; }
  Unaligned& operator=(T other) {
    value = other;
    return *this;
  }
};

class TestWave {
 public:
  static constexpr u64 kCode = 0x10000;
  static constexpr u64 kData = 0x4'0000'0000;     // a buffer of kDataBytes
  static constexpr u64 kScratch = 0x5'0000'0000;  // this wave's, kScratchLaneBytes for each lane
  static constexpr u32 kDataBytes = 16384, kLdsBytes = 4096, kScratchLaneBytes = 256;

  TestWave(std::string_view chip, u32 lanes);

  // Assembles, runs to the end (s_endpgm is appended) or to what stops it.
  emu::amdgpu::Exit run(std::string_view assembly);

  // Sets a vector register: function(lane).
  template <class Function>
  void set(u32 vgpr, Function&& function) {
    for (u32 lane = 0; lane < wave.lanes; ++lane) {
      wave.row(vgpr)[lane] = static_cast<u32>(function(lane));
    }
  }
  void set_all(u32 vgpr, u32 value) {
    set(vgpr, [&](u32) { return value; });
  }
  std::vector<u32> get(u32 vgpr) {
    return std::vector<u32>(wave.row(vgpr), wave.row(vgpr) + wave.lanes);
  }

  template <class T>
  Unaligned<T>& data(u64 offset) {
    return *reinterpret_cast<Unaligned<T>*>(data_.data() + offset);
  }
  template <class T>
  Unaligned<T>& lds(u64 offset) {
    return *reinterpret_cast<Unaligned<T>*>(lds_.data() + offset);
  }
  template <class T>
  Unaligned<T>& scratch(u64 offset) {
    return *reinterpret_cast<Unaligned<T>*>(scratch_.data() + offset);
  }

  emu::amdgpu::Wave wave;

 private:
  void load(std::string_view assembly);
  void map(u64 va, std::vector<u8>& bytes, bool writable, bool executable);

  std::string loaded_;  // the assembly whose words are in code_
  std::vector<u8> code_, data_, lds_, scratch_;
  emu::AddressSpace space_;
  emu::amdgpu::DirectMemory memory_;
  std::unique_ptr<emu::amdgpu::CodeCache> cache_;
};

}  // namespace doorbell::testing
