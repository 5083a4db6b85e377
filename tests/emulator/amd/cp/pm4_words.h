// Words of PM4 packets by hand, from nvd.h and soc15d.h of torvalds/linux.
#pragma once

#include <vector>

#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {

constexpr u32 packet3(u32 opcode, u32 payload) {
  return 0xc0000000u | (payload - 1) << 16 | opcode << 8;
}

// WRITE_DATA 0x37: dst_sel 5 memory, wr_confirm bit 20, address, data.
inline std::vector<u32> write_data(u64 va, std::vector<u32> data) {
  std::vector<u32> words{packet3(0x37, 3 + static_cast<u32>(data.size())), 5 << 8 | 1 << 20, lo(va),
                         hi(va)};
  words.insert(words.end(), data.begin(), data.end());
  return words;
}

// RELEASE_MEM 0x49 as kfdtest's PM4ReleaseMemoryPacket::InitPacketNV: event 0x14 with index 5.
inline std::vector<u32> release_mem(u32 data_sel, u32 int_sel, u64 va, u64 data,
                                    u32 context_id = 0) {
  return {packet3(0x49, 7), 0x14 | 5 << 8, data_sel << 29 | int_sel << 24, lo(va), hi(va), lo(data),
          hi(data),         context_id};
}

inline std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace doorbell::emu::amdgpu
