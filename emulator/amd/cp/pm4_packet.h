// How the command processor takes a packet's record out of its words, and what is wrong with them.
// Inline parts of ComputeQueue, included by the files that execute packets.
#pragma once

#include "base/bits/print.h"
#include "emulator/amd/cp/compute_queue.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

// Of what begins like none: only packets of type 3, and fillers of type 2, are there.
inline std::string no_packet(u32 header) {
  return fmt::format("no packet begins with {:#010x}, a header of type {}", header, header >> 30);
}

// The shader type bit: set by some clients, ignored by the compute engines. [nvd.h PACKET3_COMPUTE]
inline constexpr u32 kShaderType = 2;

// Of the user SGPRs, the first with the arguments' address. [LLVM AMDGPUUsage "Initial Kernel
// Execution State"]
inline u32 arguments_sgpr(const amd::hw::KernelDescriptor& descriptor) {
  return (descriptor.enable_sgpr_private_segment_buffer ? 4 : 0) +
         (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) + (descriptor.enable_sgpr_queue_ptr ? 2 : 0);
}

template <class Packet>
std::optional<Packet> ComputeQueue::decode_packet() {
  constexpr bool kVariable = requires { Packet::kVariable; };
  constexpr usize kWords = Packet::kWords;
  bool fits = kVariable ? words_.size() >= kWords : words_.size() == kWords;
  if (!fits && (report_violation(kPacketSize, fmt::format("{} has {} words, expected {}",
                                                          describe(), words_.size(), kWords)) ||
                words_.size() < kWords)) {
    // Short packets cannot be read at any level.
    if (!Queue::stopped()) stop(fmt::format("{} words are no {}", words_.size(), describe()));
    return std::nullopt;
  }
  std::array<u32, kWords> words{};
  std::copy_n(words_.begin(), kWords, words.begin());
  words[0] &= ~kShaderType;
  auto stray = stray_bits<Packet>(words);
  for (usize i = 0; i < kWords; ++i)
    if (stray[i] != 0 && report_violation(kReservedBits, fmt::format("{} has {:#x} in word {}",
                                                                     describe(), stray[i], i)))
      return std::nullopt;
  return decode<Packet>(words);
}

}  // namespace doorbell::emu::amdgpu
