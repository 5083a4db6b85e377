// Methods of the host engine, the same on every channel since Volta.
// [NVIDIA/open-gpu-doc classes/host/clc56f.h; open-gpu-kernel-modules class/clc56f.h, clc86f.h;
// semantics: open-gpu-doc manuals/ampere/ga100/dev_pbdma.ref.txt]
#pragma once

#include "drivers/nv/hw/class_id.h"
#include "drivers/nv/hw/host/method_header.h"

namespace doorbell::nv::hw {

// Binds a class to the subchannel. [clc56f.h NVC56F_SET_OBJECT]
struct SetObject {
  static constexpr u32 kMethod = 0x0000, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"SET_OBJECT"};

  ClassId class_id = ClassId::None;
  u8 engine = 0;

  static constexpr void fields(auto& p, auto f) {
    f("class_id", word(0, 15, 0), p.class_id);
    f("engine", word(0, 20, 16), p.engine);
  }
};
static_assert(sound<SetObject>());

// Raises an interrupt at the host, which wakes those who wait for RM's event; the channel goes on.
// [clc56f.h NVC56F_NON_STALL_INTERRUPT]
struct NonStallInterrupt {
  static constexpr u32 kMethod = 0x0020, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"NON_STALL_INTERRUPT"};

  u32 handle = 0;

  static constexpr void fields(auto& p, auto f) { f("handle", word(0), p.handle); }
};
static_assert(sound<NonStallInterrupt>());

// [clc56f.h NVC56F_MEM_OP_D_OPERATION; clc86f.h]
enum class MemOperation : u8 {
  None = 0,
  Membar = 0x05,
  MmuTlbInvalidate = 0x09,
  MmuTlbInvalidateTargeted = 0x0a,
  MmuOperation = 0x0b,
  L2PeermemInvalidate = 0x0d,
  L2SysmemInvalidate = 0x0e,
  L2CleanComptags = 0x0f,
  L2FlushDirty = 0x10,
  L2WaitForSysPendingReads = 0x15,
  AccessCounterClr = 0x16,
};
constexpr std::string_view name_of(MemOperation operation) {
  switch (operation) {
    case MemOperation::None: break;
    case MemOperation::Membar: return "Membar";
    case MemOperation::MmuTlbInvalidate: return "MmuTlbInvalidate";
    case MemOperation::MmuTlbInvalidateTargeted: return "MmuTlbInvalidateTargeted";
    case MemOperation::MmuOperation: return "MmuOperation";
    case MemOperation::L2PeermemInvalidate: return "L2PeermemInvalidate";
    case MemOperation::L2SysmemInvalidate: return "L2SysmemInvalidate";
    case MemOperation::L2CleanComptags: return "L2CleanComptags";
    case MemOperation::L2FlushDirty: return "L2FlushDirty";
    case MemOperation::L2WaitForSysPendingReads: return "L2WaitForSysPendingReads";
    case MemOperation::AccessCounterClr: return "AccessCounterClr";
  }
  return {};
}

// An operation on memory or caches. A and B are for operations that user channels may not do.
// [clc86f.h NVC86F_MEM_OP_A .. D]
struct MemOp {
  static constexpr u32 kMethod = 0x0028, kWords = 4;
  static constexpr std::array<std::string_view, kWords> kNames{"MEM_OP_A", "MEM_OP_B", "MEM_OP_C",
                                                               "MEM_OP_D"};

  u32 a = 0, b = 0;
  u32 c = 0;  // of Membar: 0 orders writes to system memory too, 1 those to this GPU's memory only
  u32 operand = 0;
  MemOperation operation = MemOperation::None;

  static constexpr void fields(auto& p, auto f) {
    f("a", word(0), p.a);
    f("b", word(1), p.b);
    f("c", word(2), p.c);
    f("operand", word(3, 26, 0), p.operand);
    f("operation", word(3, 31, 27), p.operation);
  }
};
static_assert(sound<MemOp>());

enum class SemOperation : u8 {
  Acquire = 0,       // wait until memory equals the payload
  Release = 1,       // write the payload
  AcqStrictGeq = 2,  // until memory >= payload, unsigned
  AcqCircGeq = 3,    // until (memory - payload) is not negative, which holds across a wrap
  AcqAnd = 4,        // until (memory & payload) is not 0
  AcqNor = 5,        // until ~(memory | payload) is not 0
  Reduction = 6,
};
constexpr std::string_view name_of(SemOperation operation) {
  switch (operation) {
    case SemOperation::Acquire: return "Acquire";
    case SemOperation::Release: return "Release";
    case SemOperation::AcqStrictGeq: return "AcqStrictGeq";
    case SemOperation::AcqCircGeq: return "AcqCircGeq";
    case SemOperation::AcqAnd: return "AcqAnd";
    case SemOperation::AcqNor: return "AcqNor";
    case SemOperation::Reduction: return "Reduction";
  }
  return {};
}

// A semaphore in memory: SEM_EXECUTE does what the four methods before it describe. A timestamp
// makes a release 16 bytes: the payload in the first 8, nanoseconds of PTIMER in the others.
// [clc56f.h, clc86f.h SEM_ADDR_LO .. SEM_EXECUTE; dev_pbdma.ref.txt NV_UDMA_SEM_EXECUTE]
struct Semaphore {
  static constexpr u32 kMethod = 0x005c, kWords = 5;
  static constexpr std::array<std::string_view, kWords> kNames{
      "SEM_ADDR_LO", "SEM_ADDR_HI", "SEM_PAYLOAD_LO", "SEM_PAYLOAD_HI", "SEM_EXECUTE"};

  u64 addr = 0;     // 40 bits before Hopper, 57 from there on
  u64 payload = 0;  // the low half where payload_64bit is not set
  SemOperation operation = SemOperation::Acquire;
  bool acquire_switch_tsg = false;  // while it waits, let another channel group run
  bool release_wfi = false;         // first wait until the engine is idle
  bool payload_64bit = false;
  bool release_timestamp = false;
  u8 reduction = 0;
  bool reduction_unsigned = false;

  static constexpr void fields(auto& p, auto f) {
    f("addr", Bits{56, 2}, p.addr, Shift{2});
    f("payload", Bits{127, 64}, p.payload);
    f("operation", word(4, 2, 0), p.operation);
    f("acquire_switch_tsg", word(4, 12, 12), p.acquire_switch_tsg);
    f("release_wfi", word(4, 20, 20), p.release_wfi);
    f("payload_64bit", word(4, 24, 24), p.payload_64bit);
    f("release_timestamp", word(4, 25, 25), p.release_timestamp);
    f("reduction", word(4, 30, 27), p.reduction);
    f("reduction_unsigned", word(4, 31, 31), p.reduction_unsigned);
  }
};
static_assert(sound<Semaphore>());

// Waits until the engine is idle. [clc56f.h NVC56F_WFI]
struct HostWaitForIdle {
  static constexpr u32 kMethod = 0x0078, kWords = 1;
  static constexpr std::array<std::string_view, kWords> kNames{"WFI"};

  bool all = false;  // of every subcontext; else of this channel's

  static constexpr void fields(auto& p, auto f) { f("all", word(0, 0, 0), p.all); }
};
static_assert(sound<HostWaitForIdle>());

}  // namespace doorbell::nv::hw
