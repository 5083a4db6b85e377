// The headers of PM4 packets, which the command processor reads, and their opcodes. The packets are
// in the files beside this one, split as they are used; a stream of them is stream.h's.
//
//   31:30 type (3, or 2 for a filler of one word)
//   29:16 count: words after the header, less one
//   15:8  opcode
//   1     shader type, 1 = compute (graphics rings only; the compute engines ignore it)
//   0     predicate
// [torvalds/linux drivers/gpu/drm/amd/amdgpu/nvd.h PACKET3, PACKET3_COMPUTE]
#pragma once

#include <array>
#include <string_view>

#include "base/bits/bits.h"

namespace doorbell::amd::hw {

// Vendor's numbers; the names are theirs in our case. Those without a record here are printed with
// their words. [nvd.h PACKET3_*, soc15d.h PACKET3_*]
enum class Opcode : u8 {
  Nop = 0x10,
  SetBase = 0x11,
  ClearState = 0x12,
  DispatchDirect = 0x15,
  DispatchIndirect = 0x16,
  AtomicGds = 0x1d,
  AtomicMem = 0x1e,
  OcclusionQuery = 0x1f,
  SetPredication = 0x20,
  RegRmw = 0x21,
  CondExec = 0x22,
  PredExec = 0x23,
  ContextControl = 0x28,
  IndirectBufferConst = 0x33,
  WriteData = 0x37,
  MemSemaphore = 0x39,
  WaitRegMem = 0x3c,
  IndirectBuffer = 0x3f,
  CopyData = 0x40,
  PfpSyncMe = 0x42,
  CondWrite = 0x45,
  EventWrite = 0x46,
  ReleaseMem = 0x49,
  DmaData = 0x50,
  ContextRegRmw = 0x51,
  AcquireMem = 0x58,
  Rewind = 0x59,
  Interrupt = 0x5a,
  GenPdepte = 0x5b,
  PrimeUtcl2 = 0x5d,
  LoadUconfigReg = 0x5e,
  LoadShReg = 0x5f,
  LoadConfigReg = 0x60,
  LoadContextReg = 0x61,
  SetConfigReg = 0x68,
  SetContextReg = 0x69,
  SetShReg = 0x76,
  SetShRegOffset = 0x77,
  SetQueueReg = 0x78,
  SetUconfigReg = 0x79,
  SetUconfigRegIndex = 0x7a,
  WaitRegMem64 = 0x93,
  CondPreempt = 0x94,
  HdpFlush = 0x95,
  InvalidateTlbs = 0x98,
  AqlPacket = 0x99,
  SetShRegIndex = 0x9b,
  SetResources = 0xa0,
  MapProcess = 0xa1,
  MapQueues = 0xa2,
  UnmapQueues = 0xa3,
  QueryStatus = 0xa4,
  RunList = 0xa5,
};
std::string_view name_of(Opcode opcode);  // empty: none of these

inline constexpr Bits kPacketType = word(0, 31, 30);
inline constexpr Bits kPacketCount = word(0, 29, 16);
inline constexpr Bits kPacketOpcode = word(0, 15, 8);

// The constant part of a header: type and opcode, and the count where the length is fixed.
constexpr u32 packet3(Opcode opcode) {
  std::array<u32, 1> header{};
  deposit(header, kPacketType, 3);
  deposit(header, kPacketOpcode, static_cast<u8>(opcode));
  return header[0];
}
constexpr u32 packet3(Opcode opcode, u32 words) {
  std::array<u32, 1> header{packet3(opcode)};
  deposit(header, kPacketCount, words - 2);
  return header[0];
}

// The count of a packet of so many words, for packets whose length varies. Their records hold the
// words before the payload, and have kVariable.
constexpr u16 count_of(u32 words) { return static_cast<u16>(words - 2); }

// A filler of one word. [nvd.h CP_PACKET2]
inline constexpr u32 kPacket2 = 0x8000'0000;

}  // namespace doorbell::amd::hw
