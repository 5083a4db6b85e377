// Methods of the compute classes, Turing to Blackwell. Where generations differ, the fields are the
// widest form; a field that a class lacks is said to.
// [NVIDIA/open-gpu-doc classes/compute/clc5c0.h, clc6c0.h, clc7c0.h, clc9c0.h, clcbc0.h, clcdc0.h,
// clcec0.h]
#pragma once

#include "drivers/nv/hw/host/method_header.h"

namespace doorbell::nv::hw {

// Waits until all grids of the channel's subcontext are done. [clc6c0.h NVC6C0_WAIT_FOR_IDLE]
struct WaitForIdle {
  static constexpr u32 kMethod = 0x0110, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"WAIT_FOR_IDLE"};
  u32 value = 0;
  static constexpr void fields(auto& p, auto f) { f("value", word(0), p.value); }
};
static_assert(sound<WaitForIdle>());

// Inline-to-memory: LOAD_INLINE_DATA's words go to addr after LAUNCH_DMA said so. [clc6c0.h
// NVC6C0_LINE_LENGTH_IN .. OFFSET_OUT]
struct InlineTarget {
  static constexpr u32 kMethod = 0x0180, kWords = 4;
  static constexpr std::array<std::string_view, kWords> kNames{"LINE_LENGTH_IN", "LINE_COUNT",
                                                               "OFFSET_OUT_UPPER", "OFFSET_OUT"};
  u32 line_length = 0;  // bytes
  u32 line_count = 0;
  u32 offset_out_upper = 0;  // 17 bits before Hopper, 25 from there on
  u32 offset_out = 0;

  constexpr u64 addr() const { return u64{offset_out_upper} << 32 | offset_out; }
  static constexpr void fields(auto& p, auto f) {
    f("line_length", word(0), p.line_length);
    f("line_count", word(1), p.line_count);
    f("offset_out_upper", word(2, 24, 0), p.offset_out_upper);
    f("offset_out", word(3), p.offset_out);
  }
};
static_assert(sound<InlineTarget>());

enum class InlineCompletion : u8 { FlushDisable = 0, FlushOnly = 1, ReleaseSemaphore = 2 };
constexpr std::string_view name_of(InlineCompletion completion) {
  switch (completion) {
    case InlineCompletion::FlushDisable: return "FlushDisable";
    case InlineCompletion::FlushOnly: return "FlushOnly";
    case InlineCompletion::ReleaseSemaphore: return "ReleaseSemaphore";
  }
  return {};
}

// [clc6c0.h NVC6C0_LAUNCH_DMA]
struct InlineLaunch {
  static constexpr u32 kMethod = 0x01b0, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"LAUNCH_DMA"};
  bool dst_pitch = true;  // else block-linear
  bool reduction_enable = false;
  u8 reduction_format = 0;
  InlineCompletion completion = InlineCompletion::FlushDisable;
  bool sysmembar_disable = false;
  u8 interrupt_type = 0;
  bool semaphore_one_word = false;
  u8 reduction_op = 0;
  static constexpr void fields(auto& p, auto f) {
    f("dst_pitch", word(0, 0, 0), p.dst_pitch);
    f("reduction_enable", word(0, 1, 1), p.reduction_enable);
    f("reduction_format", word(0, 3, 2), p.reduction_format);
    f("completion", word(0, 5, 4), p.completion);
    f("sysmembar_disable", word(0, 6, 6), p.sysmembar_disable);
    f("interrupt_type", word(0, 9, 8), p.interrupt_type);
    f("semaphore_one_word", word(0, 12, 12), p.semaphore_one_word);
    f("reduction_op", word(0, 15, 13), p.reduction_op);
  }
};
static_assert(sound<InlineLaunch>());

// One word of inline data; a run of them is sent with NonInc. [clc6c0.h NVC6C0_LOAD_INLINE_DATA]
struct InlineData {
  static constexpr u32 kMethod = 0x01b4, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"LOAD_INLINE_DATA"};
  u32 value = 0;
  static constexpr void fields(auto& p, auto f) { f("value", word(0), p.value); }
};
static_assert(sound<InlineData>());

// An address in two words, the upper one first.
struct AddressWords {
  u32 upper = 0, lower = 0;
  constexpr u64 addr() const { return u64{upper} << 32 | lower; }
};
constexpr AddressWords address_words(u64 addr) {
  return {static_cast<u32>(addr >> 32), static_cast<u32>(addr)};
}

// Where in the generic address space shared memory begins. [clc6c0.h
// NVC6C0_SET_SHADER_SHARED_MEMORY_WINDOW_A, _B]
struct SharedMemoryWindow : AddressWords {
  static constexpr u32 kMethod = 0x02a0, kWords = 2;
  static constexpr std::array<std::string_view, kWords> kNames{"SET_SHADER_SHARED_MEMORY_WINDOW_A",
                                                               "SET_SHADER_SHARED_MEMORY_WINDOW_B"};
  static constexpr void fields(auto& p, auto f) {
    f("upper", word(0, 16, 0), p.upper);
    f("lower", word(1), p.lower);
  }
};
static_assert(sound<SharedMemoryWindow>());

// And where local memory begins. [clc6c0.h NVC6C0_SET_SHADER_LOCAL_MEMORY_WINDOW_A, _B]
struct LocalMemoryWindow : AddressWords {
  static constexpr u32 kMethod = 0x07b0, kWords = 2;
  static constexpr std::array<std::string_view, kWords> kNames{"SET_SHADER_LOCAL_MEMORY_WINDOW_A",
                                                               "SET_SHADER_LOCAL_MEMORY_WINDOW_B"};
  static constexpr void fields(auto& p, auto f) {
    f("upper", word(0, 16, 0), p.upper);
    f("lower", word(1), p.lower);
  }
};
static_assert(sound<LocalMemoryWindow>());

// The buffer that holds the local memory of all threads in flight; 17 upper bits before Hopper.
// [clc6c0.h, clcbc0.h SET_SHADER_LOCAL_MEMORY_A, _B]
struct LocalMemory : AddressWords {
  static constexpr u32 kMethod = 0x0790, kWords = 2;
  static constexpr std::array<std::string_view, kWords> kNames{"SET_SHADER_LOCAL_MEMORY_A",
                                                               "SET_SHADER_LOCAL_MEMORY_B"};
  static constexpr void fields(auto& p, auto f) {
    f("upper", word(0, 24, 0), p.upper);
    f("lower", word(1), p.lower);
  }
};
static_assert(sound<LocalMemory>());

// The local memory of one TPC in bytes, and how many SMs may use it. [clc6c0.h, clcbc0.h
// SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_*]
struct LocalMemorySize {
  static constexpr u32 kMethod = 0x02e4, kWords = 3;
  static constexpr std::array<std::string_view, kWords> kNames{
      "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_A", "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_B",
      "SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_C"};
  u32 size_upper = 0, size_lower = 0;
  u16 max_sm_count = 0;
  u8 max_plural_tpc_gpc_count = 0, max_singleton_tpc_gpc_count = 0;  // from Hopper on

  constexpr u64 size() const { return u64{size_upper} << 32 | size_lower; }
  static constexpr void fields(auto& p, auto f) {
    f("size_upper", word(0, 7, 0), p.size_upper);
    f("size_lower", word(1), p.size_lower);
    f("max_sm_count", word(2, 8, 0), p.max_sm_count);
    f("max_plural_tpc_gpc_count", word(2, 23, 16), p.max_plural_tpc_gpc_count);
    f("max_singleton_tpc_gpc_count", word(2, 31, 24), p.max_singleton_tpc_gpc_count);
  }
};
static_assert(sound<LocalMemorySize>());

// The descriptor (QMD) that the next SEND_SIGNALING_PCAS* is about; below 2^40. [clc6c0.h
// NVC6C0_SEND_PCAS_A]
struct SendPcasA {
  static constexpr u32 kMethod = 0x02b4, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"SEND_PCAS_A"};
  u64 qmd_address = 0;  // a multiple of 256
  static constexpr void fields(auto& p, auto f) {
    f("qmd_address", word(0), p.qmd_address, Shift{8});
  }
};
static_assert(sound<SendPcasA>());

enum class PcasAction : u8 {
  Nop = 0,
  Invalidate = 1,
  Schedule = 2,
  InvalidateCopySchedule = 3,
  IncrementPut = 6,
  DecrementDependence = 7,
  Prefetch = 8,
  PrefetchSchedule = 9,
  InvalidatePrefetchCopySchedule = 10,
  InvalidatePrefetchCopyForceRequireScheduling = 11,
  IncrementDependence = 12,  // from Hopper on, as the next one
  IncrementCwdRefCounter = 13,
};
constexpr std::string_view name_of(PcasAction action) {
  switch (action) {
    case PcasAction::Nop: return "Nop";
    case PcasAction::Invalidate: return "Invalidate";
    case PcasAction::Schedule: return "Schedule";
    case PcasAction::InvalidateCopySchedule: return "InvalidateCopySchedule";
    case PcasAction::IncrementPut: return "IncrementPut";
    case PcasAction::DecrementDependence: return "DecrementDependence";
    case PcasAction::Prefetch: return "Prefetch";
    case PcasAction::PrefetchSchedule: return "PrefetchSchedule";
    case PcasAction::InvalidatePrefetchCopySchedule: return "InvalidatePrefetchCopySchedule";
    case PcasAction::InvalidatePrefetchCopyForceRequireScheduling:
      return "InvalidatePrefetchCopyForceRequireScheduling";
    case PcasAction::IncrementDependence: return "IncrementDependence";
    case PcasAction::IncrementCwdRefCounter: return "IncrementCwdRefCounter";
  }
  return {};
}

// What to do with the descriptor of SEND_PCAS_A. From Ampere on; Turing has only the older
// SEND_SIGNALING_PCAS_B below. [clc6c0.h, clcbc0.h SEND_SIGNALING_PCAS2_B]
struct SendSignalingPcas2B {
  static constexpr u32 kMethod = 0x02c0, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"SEND_SIGNALING_PCAS2_B"};
  PcasAction action = PcasAction::Nop;
  u8 select = 0;  // from Hopper on, as the next one
  u16 offset_minus_one = 0;
  static constexpr void fields(auto& p, auto f) {
    f("action", word(0, 3, 0), p.action);
    f("select", word(0, 13, 8), p.select);
    f("offset_minus_one", word(0, 23, 14), p.offset_minus_one);
  }
};
static_assert(sound<SendSignalingPcas2B>());

// [clc6c0.h NVC6C0_SEND_SIGNALING_PCAS_B]
struct SendSignalingPcasB {
  static constexpr u32 kMethod = 0x02bc, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"SEND_SIGNALING_PCAS_B"};
  bool invalidate = false, schedule = false;
  static constexpr void fields(auto& p, auto f) {
    f("invalidate", word(0, 0, 0), p.invalidate);
    f("schedule", word(0, 1, 1), p.schedule);
  }
};
static_assert(sound<SendSignalingPcasB>());

// [clc6c0.h NVC6C0_SET_SHADER_EXCEPTIONS]
struct SetShaderExceptions {
  static constexpr u32 kMethod = 0x1528, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"SET_SHADER_EXCEPTIONS"};
  bool enable = false;
  static constexpr void fields(auto& p, auto f) { f("enable", word(0, 0, 0), p.enable); }
};
static_assert(sound<SetShaderExceptions>());

// Grids that are launched later read memory anew through the named caches; it waits for nothing.
// [clc6c0.h NVC6C0_INVALIDATE_SHADER_CACHES_NO_WFI]
struct InvalidateShaderCachesNoWfi {
  static constexpr u32 kMethod = 0x1698, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"INVALIDATE_SHADER_CACHES_NO_WFI"};
  bool instruction = false, global_data = false, constant = false;
  static constexpr void fields(auto& p, auto f) {
    f("instruction", word(0, 0, 0), p.instruction);
    f("global_data", word(0, 4, 4), p.global_data);
    f("constant", word(0, 12, 12), p.constant);
  }
};
static_assert(sound<InvalidateShaderCachesNoWfi>());

}  // namespace doorbell::nv::hw
