// Entries of a GPFIFO, the ring that the host engine (PBDMA) reads: each names a pushbuffer segment
// or is a control entry.
// [NVIDIA/open-gpu-kernel-modules class/clc56f.h, clc86f.h NV*_GP_ENTRY*; open-gpu-doc
// manuals/ampere/ga100/dev_pbdma.ref.txt NV_PPBDMA_GP_ENTRY]
#pragma once

#include <string_view>

#include "base/bits/record.h"

namespace doorbell::nv::hw {

// Whether a pushbuffer segment may be fetched before the entries ahead of it were executed.
enum class GpSync : u8 { Proceed, Wait };
constexpr std::string_view name_of(GpSync sync) {
  return sync == GpSync::Wait ? "Wait" : "Proceed";
}

// A pushbuffer segment: `length` words at addr, which is below 2^40. The length is not 0. [clc56f.h
// NVC56F_GP_ENTRY0_*, GP_ENTRY1_*; dev_pbdma.ref.txt NV_PPBDMA_GP_ENTRY]
struct GpEntry {
  static constexpr u32 kWords = 2;
  static constexpr u64 kAddressLimit = u64{1} << 40;

  bool fetch_conditional = false;  // skip the segment after a failed conditional method
  u64 addr = 0;                    // bytes, a multiple of 4
  bool subroutine = false;         // LEVEL: progress is not reported in TOP_LEVEL_GET
  u32 length = 0;                  // words
  GpSync sync = GpSync::Proceed;

  static constexpr void fields(auto& p, auto f) {
    f("fetch_conditional", word(0, 0, 0), p.fetch_conditional);
    f("addr", Bits{39, 2}, p.addr, Shift{2});
    f("subroutine", word(1, 9, 9), p.subroutine);
    f("length", word(1, 30, 10), p.length);
    f("sync", word(1, 31, 31), p.sync);
  }
};
static_assert(sound<GpEntry>());

// SetExtendedBase exists from Hopper on. [clc86f.h NVC86F_GP_ENTRY1_OPCODE]
enum class GpOpcode : u8 { Nop, Illegal, GpCrc, PbCrc, SetExtendedBase };
constexpr std::string_view name_of(GpOpcode opcode) {
  switch (opcode) {
    case GpOpcode::Nop: return "Nop";
    case GpOpcode::Illegal: return "Illegal";
    case GpOpcode::GpCrc: return "GpCrc";
    case GpOpcode::PbCrc: return "PbCrc";
    case GpOpcode::SetExtendedBase: return "SetExtendedBase";
  }
  return {};
}

// The other form of an entry, told by a length of 0. [clc56f.h NVC56F_GP_ENTRY0_OPERAND,
// GP_ENTRY1_OPCODE]
struct GpControlEntry {
  static constexpr u32 kWords = 2;

  u32 operand = 0;
  GpOpcode opcode = GpOpcode::Nop;
  u32 length = 0;

  static constexpr void fields(auto& p, auto f) {
    f("operand", word(0), p.operand);
    f("opcode", word(1, 7, 0), p.opcode);
    f("length", word(1, 30, 10), p.length);
  }
};
static_assert(sound<GpControlEntry>());

}  // namespace doorbell::nv::hw
