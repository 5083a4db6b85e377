// Barriers in shared memory (mbarrier objects): SYNCS, and the arrival of copies (ARRIVES).
// [PTX ISA, "mbarrier"; mnemonics and fields: nvdisasm's text of what NVRTC compiles]
//
// An object is eight bytes, opaque in PTX. Where compiled code shows a field, it lies there here:
// mbarrier.init stores the counts, mbarrier.pending_count takes one from a state, and mbarrier's
// waits move a parity to bit 31 of the state's upper half. The place of the bytes is ours.
//   1 to 20    2^20 less the arrivals that each phase expects
//   21 to 41   bytes (tx-count) that the current phase still expects, signed
//   43 to 62   2^20 less the arrivals that the current phase still expects
//   63         parity of the current phase
#include "emulator/nv/isa/mbarrier.h"

#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/handlers.h"
#include "emulator/nv/isa/memory_access.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr i64 kMost = i64{1} << 20;

struct Mbarrier {
  i64 expected = 0, pending = 0, bytes = 0;
  bool odd = false;

  static Mbarrier of(u64 word) {
    const Words words{word, 0};
    return {kMost - words.field(1, 20), (kMost - words.field(43, 20)) % kMost,
            words.signed_at(21, 21), words.bit(63)};
  }
  u64 word() const {
    const auto field = [](i64 value, unsigned from, unsigned count) {
      return (static_cast<u64>(value) & ((u64{1} << count) - 1)) << from;
    };
    return field(kMost - expected, 1, 20) | field(bytes, 21, 21) | field(kMost - pending, 43, 20) |
           field(odd, 63, 1);
  }
  bool is_initialised() const { return expected != kMost; }
};

u32 address_at(const Warp& warp, const Operation& op, u32 lane) {
  const u32 offset = static_cast<u32>(op.words.signed_at(40, 24));
  if (op.opcode->flags & kUniform) return warp.rows[op.a.index][lane] + offset;
  return row_of(warp, op.a)[lane] + warp.rows[kUniformStart + op.field(64, 6)][lane] + offset;
}

// Null after stop().
u8* object_at(Warp& warp, u32 lane, u32 address) {
  return locate(warp, Space::Shared, lane, address, 8, true, true);
}

Flow break_rule(Warp& warp, u32 lane, u32 address, const char* what) {
  return stop(warp, kMbarrier, lane, address,
              fmt::format("the mbarrier at shared address {:#x} {}", address, what));
}

// What one thread does at once: it expects `bytes` more, and arrives `arrivals` times.
struct Arrival {
  i64 arrivals = 0, bytes = 0;
  bool leaves = false;       // the phases that follow expect one arrival less
  bool no_complete = false;  // it must not be the last of its phase
};

// False: a rule was broken, and the warp is stopped. `before`: the object before; may be null.
bool arrive(Warp& warp, u32 lane, u32 address, const Arrival& arrival, u64* before) {
  u8* at = object_at(warp, lane, address);
  if (at == nullptr) return false;
  u64 word = 0;
  std::memcpy(&word, at, 8);
  if (before != nullptr) *before = word;
  Mbarrier object = Mbarrier::of(word);
  const char* wrong = nullptr;
  object.pending -= arrival.arrivals;
  object.bytes += arrival.bytes;
  const bool completes = object.pending == 0 && object.bytes == 0;
  if (!object.is_initialised())
    wrong = "is not initialised";
  else if (object.pending < 0)
    wrong = "gets more arrivals than its phase expects";
  else if (object.bytes <= -kMost || object.bytes >= kMost)
    wrong = "expects more than 2^20 - 1 bytes";
  else if (completes && arrival.no_complete)
    wrong = "completes its phase by an arrival that must not (.noComplete)";
  if (wrong != nullptr) {
    break_rule(warp, lane, address, wrong);
    return false;
  }
  if (arrival.leaves) --object.expected;
  if (completes) {
    object.pending = object.expected;
    object.odd = !object.odd;
    warp.block->order_accesses();
  }
  word = object.word();
  std::memcpy(at, &word, 8);
  return true;
}

// Bits 84 to 86: how often it arrives, and which bytes. A1 once, AR as often as the register says;
// TR expects the register's bytes, TX says that they came, T1 expects a copy (LDGSTS), which
// counts as a byte. Bit 75, .OPTOUT, is PTX's arrive_drop.
std::optional<Arrival> arrival_of(const Operation& op, u32 value) {
  const bool leaves = op.bit(75);
  switch (op.field(84, 3)) {
    case 0: return Arrival{1, value, leaves};                     // arrive.expect_tx
    case 1: return Arrival{1, 0, leaves};                         // A1T0
    case 2: return Arrival{0, 1, leaves};                         // A0T1
    case 3: return Arrival{0, value, leaves};                     // A0TR: expect_tx
    case 4: return Arrival{0, -static_cast<i64>(value), leaves};  // A0TX: complete_tx
    case 5: return Arrival{value, 0, leaves};                     // ART0
    default: return std::nullopt;
  }
}

// Bit 73, .TMASK, of PTX's .noComplete: every lane gets the mask of the lanes that arrive and the
// upper half of the state before all of them. The code behind it makes of these the lane's state,
// as if the lanes below it had arrived before. [NVRTC's code for mbarrier.arrive.noComplete]
Flow arrive_lanes(Warp& warp, const Operation& op) {
  if (op.field(70, 2) != 0) return unknown_instruction(warp, op);
  const u32 lanes = warp.mask_of(op);
  if (lanes == 0) return Flow::Next;
  const bool together = op.bit(73);
  const Row& values = warp.rows[op.field(32, 8)];
  alignas(64) u32 low[kLanes] = {}, high[kLanes] = {};
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    std::optional<Arrival> arrival = arrival_of(op, values[lane]);
    if (!arrival) return unknown_instruction(warp, op);
    arrival->no_complete = together;
    u64 before = 0;
    if (!arrive(warp, lane, address_at(warp, op, lane), *arrival, &before)) return Flow::Stop;
    low[lane] = together ? lanes : static_cast<u32>(before);
    high[lane] = static_cast<u32>(before >> 32);
    if (together) high[lane] = high[Warp::first_lane(lanes)];
  }
  store_row(warp, op.dst, low, lanes);
  store_row(warp, next_row(op.dst), high, lanes);
  return Flow::Next;
}

// PHASECHK: whether the phase whose parity is bit 31 of the register is complete. TRYWAIT (bit 72)
// may suspend the thread: others have their turn.
Flow check_phase(Warp& warp, const Operation& op) {
  if (op.field(70, 2) != 1) return unknown_instruction(warp, op);
  const u32 lanes = warp.mask_of(op);
  const Row& states = warp.rows[op.field(32, 8)];
  u32 complete = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const u8* at = object_at(warp, lane, address_at(warp, op, lane));
    if (at == nullptr) return Flow::Stop;
    u64 word = 0;
    std::memcpy(&word, at, 8);
    const Mbarrier object = Mbarrier::of(word);
    if (!object.is_initialised())
      return break_rule(warp, lane, address_at(warp, op, lane), "is not initialised");
    complete |= static_cast<u32>(object.odd != (states[lane] >> 31)) << lane;
  }
  set_predicate(warp, op.p, complete, lanes);
  if (!op.bit(72) || complete == lanes) return Flow::Next;
  warp.ends_turn = true;
  warp.pc = warp.block->grid().start + op.offset + sizeof(Words);
  return Flow::Jump;
}

}  // namespace

bool complete_bytes(Warp& warp, u32 lane, u32 address, i64 bytes) {
  return arrive(warp, lane, address, {.bytes = -bytes}, nullptr);
}

Flow synchronize(Warp& warp, const Operation& op) {
  if (op.form == 4) return arrive_lanes(warp, op);
  return op.form == 2 ? check_phase(warp, op) : unknown_instruction(warp, op);
}

// SYNCS.EXCH.64 with uniform registers: mbarrier.init.
Flow exchange_mbarrier(Warp& warp, const Operation& op) {
  if (op.form != 2 || op.field(72, 2) != 1) return unknown_instruction(warp, op);
  if (warp.mask_of(op) == 0 || warp.active == 0) return Flow::Next;
  const u32 lane = Warp::first_lane(warp.active), value = kUniformStart + op.field(32, 6);
  u8* at = object_at(warp, lane, address_at(warp, op, lane));
  if (at == nullptr) return Flow::Stop;
  u64 before = 0;
  const u64 word = warp.rows[value][lane] | u64{warp.rows[next_row(value)][lane]} << 32;
  std::memcpy(&before, at, 8);
  std::memcpy(at, &word, 8);
  Row low, high;
  low.fill(static_cast<u32>(before)), high.fill(static_cast<u32>(before >> 32));
  store_row(warp, op.dst, low.data(), kAllLanes);
  store_row(warp, next_row(op.dst), high.data(), kAllLanes);
  return Flow::Next;
}

// SYNCS.CCTL.IV: mbarrier.inval. The bytes may be anything from then on.
Flow invalidate_mbarrier(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op);
  if (op.form != 4) return unknown_instruction(warp, op);
  for (u32 lane = 0; lane < kLanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    u8* at = object_at(warp, lane, address_at(warp, op, lane));
    if (at == nullptr) return Flow::Stop;
    std::memset(at, 0, 8);
  }
  return Flow::Next;
}

// ARRIVES.LDGSTSBAR: the arrival of each thread, once its copies (LDGSTS) are done; ours are.
// Bit 70, .ARVCNT: it was expected; bit 71, .TRANSCNT: A0T1 expected it.
Flow arrive_after_copies(Warp& warp, const Operation& op) {
  const u32 lanes = warp.mask_of(op), kind = op.field(70, 2);
  if (op.form != 4 || kind == 0 || kind == 3) return unknown_instruction(warp, op);
  if (lanes != 0) warp.block->finish_copies(warp, warp.copies_committed + 1);
  const Arrival arrival = kind == 1 ? Arrival{.arrivals = 1} : Arrival{.bytes = -1};
  for (u32 lane = 0; lane < kLanes; ++lane)
    if ((lanes >> lane & 1) && !arrive(warp, lane, address_at(warp, op, lane), arrival, nullptr))
      return Flow::Stop;
  return Flow::Next;
}

}  // namespace doorbell::emu::nvgpu
