// Methods of the DMA copy classes, Turing to Blackwell. Fields are the widest form.
// [NVIDIA/open-gpu-doc classes/dma-copy/clc6b5.h, clc8b5.h, clcab5.h; open-gpu-kernel-modules
// class/clc5b5.h, clc7b5.h, clc9b5.h]
#pragma once

#include "drivers/nv/hw/host/method_header.h"

namespace doorbell::nv::hw {

// The semaphore that LAUNCH_DMA releases. AMPERE_DMA_COPY_A (GA100) lacks payload_upper: its
// payloads have 32 bits. [clc6b5.h NVC6B5_SET_SEMAPHORE_A .. PAYLOAD, clc7b5.h
// NVC7B5_SET_SEMAPHORE_PAYLOAD_UPPER]
struct CopySemaphore {
  static constexpr u32 kMethod = 0x0240, kWords = 4;
  static constexpr std::array<std::string_view, kWords> kNames{
      "SET_SEMAPHORE_A", "SET_SEMAPHORE_B", "SET_SEMAPHORE_PAYLOAD", "SET_SEMAPHORE_PAYLOAD_UPPER"};
  u32 addr_upper = 0, addr_lower = 0;
  u32 payload = 0, payload_upper = 0;

  constexpr u64 addr() const { return u64{addr_upper} << 32 | addr_lower; }
  static constexpr void fields(auto& p, auto f) {
    f("addr_upper", word(0, 24, 0), p.addr_upper);
    f("addr_lower", word(1), p.addr_lower);
    f("payload", word(2), p.payload);
    f("payload_upper", word(3), p.payload_upper);
  }
};
static_assert(sound<CopySemaphore>());

enum class CopyTransfer : u8 {
  None = 0,
  Pipelined = 1,     // may begin before the transfers ahead of it are done
  NonPipelined = 2,  // begins when they are done
  Prefetch = 3,      // Blackwell
};
constexpr std::string_view name_of(CopyTransfer transfer) {
  switch (transfer) {
    case CopyTransfer::None: return "None";
    case CopyTransfer::Pipelined: return "Pipelined";
    case CopyTransfer::NonPipelined: return "NonPipelined";
    case CopyTransfer::Prefetch: return "Prefetch";
  }
  return {};
}

// Release writes the payload; WithTimestamp 16 bytes, the payload and nanoseconds of PTIMER.
enum class CopySemaphoreType : u8 { None = 0, Release = 1, WithTimestamp = 2, ConditionalIntr = 3 };
constexpr std::string_view name_of(CopySemaphoreType type) {
  switch (type) {
    case CopySemaphoreType::None: return "None";
    case CopySemaphoreType::Release: return "Release";
    case CopySemaphoreType::WithTimestamp: return "WithTimestamp";
    case CopySemaphoreType::ConditionalIntr: return "ConditionalIntr";
  }
  return {};
}

enum class CopyInterrupt : u8 { None = 0, Blocking = 1, NonBlocking = 2 };
constexpr std::string_view name_of(CopyInterrupt interrupt) {
  switch (interrupt) {
    case CopyInterrupt::None: return "None";
    case CopyInterrupt::Blocking: return "Blocking";
    case CopyInterrupt::NonBlocking: return "NonBlocking";
  }
  return {};
}

// Starts what the other methods describe. [clc6b5.h, clc8b5.h, clcab5.h LAUNCH_DMA]
struct CopyLaunch {
  static constexpr u32 kMethod = 0x0300, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"LAUNCH_DMA"};
  CopyTransfer transfer = CopyTransfer::None;
  bool flush_enable = false;  // make the data visible before the semaphore
  CopySemaphoreType semaphore = CopySemaphoreType::None;
  CopyInterrupt interrupt = CopyInterrupt::None;
  bool src_pitch = true, dst_pitch = true;  // else block-linear
  bool multi_line = false;                  // LINE_COUNT lines, PITCH_* apart; else one line
  bool remap = false;
  bool force_rmw_disable = false;                   // before Blackwell
  bool src_physical = false, dst_physical = false;  // user channels may not
  u8 semaphore_reduction = 0;
  bool semaphore_reduction_unsigned = false, semaphore_reduction_enable = false;
  u8 copy_type = 0;  // from Hopper on
  bool vpr_vid2vid = false;
  bool memory_scrub = false;  // from Hopper on
  bool reserved_start_of_copy = false;
  bool flush_gl = false;  // the flush reaches this GPU's memory only, not the system's
  bool disable_plc = false;
  bool payload_64bit = false;  // not of AMPERE_DMA_COPY_A
  u8 reserved_err_code = 0;

  static constexpr void fields(auto& p, auto f) {
    f("transfer", word(0, 1, 0), p.transfer);
    f("flush_enable", word(0, 2, 2), p.flush_enable);
    f("semaphore", word(0, 4, 3), p.semaphore);
    f("interrupt", word(0, 6, 5), p.interrupt);
    f("src_pitch", word(0, 7, 7), p.src_pitch);
    f("dst_pitch", word(0, 8, 8), p.dst_pitch);
    f("multi_line", word(0, 9, 9), p.multi_line);
    f("remap", word(0, 10, 10), p.remap);
    f("force_rmw_disable", word(0, 11, 11), p.force_rmw_disable);
    f("src_physical", word(0, 12, 12), p.src_physical);
    f("dst_physical", word(0, 13, 13), p.dst_physical);
    f("semaphore_reduction", word(0, 17, 14), p.semaphore_reduction);
    f("semaphore_reduction_unsigned", word(0, 18, 18), p.semaphore_reduction_unsigned);
    f("semaphore_reduction_enable", word(0, 19, 19), p.semaphore_reduction_enable);
    f("copy_type", word(0, 21, 20), p.copy_type);
    f("vpr_vid2vid", word(0, 22, 22), p.vpr_vid2vid);
    f("memory_scrub", word(0, 23, 23), p.memory_scrub);
    f("reserved_start_of_copy", word(0, 24, 24), p.reserved_start_of_copy);
    f("flush_gl", word(0, 25, 25), p.flush_gl);
    f("disable_plc", word(0, 26, 26), p.disable_plc);
    f("payload_64bit", word(0, 27, 27), p.payload_64bit);
    f("reserved_err_code", word(0, 31, 28), p.reserved_err_code);
  }
};
static_assert(sound<CopyLaunch>());

// Source, target and extent. Lines have `line_length` bytes. [clc6b5.h, clc8b5.h OFFSET_IN_UPPER ..
// LINE_COUNT]
struct CopyExtent {
  static constexpr u32 kMethod = 0x0400, kWords = 8;
  static constexpr std::array<std::string_view, kWords> kNames{
      "OFFSET_IN_UPPER", "OFFSET_IN_LOWER", "OFFSET_OUT_UPPER", "OFFSET_OUT_LOWER",
      "PITCH_IN",        "PITCH_OUT",       "LINE_LENGTH_IN",   "LINE_COUNT"};
  u32 in_upper = 0, in_lower = 0;
  u32 out_upper = 0, out_lower = 0;
  u32 pitch_in = 0, pitch_out = 0;  // bytes; read with multi_line only, as line_count
  u32 line_length = 0;
  u32 line_count = 0;

  constexpr u64 in() const { return u64{in_upper} << 32 | in_lower; }
  constexpr u64 out() const { return u64{out_upper} << 32 | out_lower; }
  static constexpr void fields(auto& p, auto f) {
    f("in_upper", word(0, 24, 0), p.in_upper);
    f("in_lower", word(1), p.in_lower);
    f("out_upper", word(2, 24, 0), p.out_upper);
    f("out_lower", word(3), p.out_lower);
    f("pitch_in", word(4), p.pitch_in);
    f("pitch_out", word(5), p.pitch_out);
    f("line_length", word(6), p.line_length);
    f("line_count", word(7), p.line_count);
  }
};
static_assert(sound<CopyExtent>());

}  // namespace doorbell::nv::hw
