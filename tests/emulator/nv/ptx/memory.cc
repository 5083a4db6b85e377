// Memory, copies, atomic operations, and control. [PTX ISA 9.0, "Data Movement and Conversion
// Instructions: ld, st, cp.async", "Parallel Synchronization and Communication Instructions: atom,
// red, bar", "Control Flow Instructions"]
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/emulator/nv/ptx/arithmetic.h"
#include "tests/emulator/nv/ptx/machine.h"

namespace doorbell::ptx {

namespace {

u64 load(const u8* from, u32 bytes) {
  u64 value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}
void store(u8* to, u64 value, u32 bytes) { std::memcpy(to, &value, bytes); }

// The registers of a scalar or a vector.
std::span<const Operand> parts_of(const Operand& operand) {
  if (operand.kind == Operand::Kind::Vector) return operand.parts;
  return {&operand, 1};
}

void ld(Thread& t, const Instruction& op) {
  const u32 bytes = op.type().all_bits() / 8;
  const std::span<const Operand> to = parts_of(op.operands[0]);
  const u64 address = t.source(op, 0);
  const u32 all = bytes * static_cast<u32>(to.size());
  const u32 used = std::min(all, static_cast<u32>(std::bit_width(op.used_bytes)));
  const u8* from = nullptr;
  if (op.space == Space::Param) {
    if (address + all <= t.block->grid.parameters.size())
      from = t.block->grid.parameters.data() + address;
    else
      t.fail(fmt::format("parameter at {}", address));
  } else {
    from = t.memory(op.space, address, used, all);
  }
  if (from == nullptr) return;
  u8 loaded[32] = {};
  std::memcpy(loaded, from, used);
  u64 values[8] = {};
  for (usize i = 0; i < to.size(); ++i) values[i] = load(loaded + i * bytes, bytes);
  for (usize i = 0; i < to.size(); ++i) {
    // Registers may be wider: signed values keep their sign.
    const Type& type = op.type();
    t.write(to[i],
            type.is_signed() ? static_cast<u64>(sign_extended(values[i], type.bits)) : values[i]);
  }
}
void st(Thread& t, const Instruction& op) {
  const u32 bytes = op.type().all_bits() / 8;
  const std::span<const Operand> from = parts_of(op.operands[1]);
  u8* to = t.memory(op.space, t.read(op.operands[0]), bytes * static_cast<u32>(from.size()));
  if (to == nullptr) return;
  for (usize i = 0; i < from.size(); ++i) store(to + i * bytes, t.read(from[i]), bytes);
}

// cp.async.cg.shared.global [to], [from], 16{, bytes}: what is not copied is zero. It is done at
// once; groups are for those that are not.
void cp(Thread& t, const Instruction& op) {
  if (!op.has(Word::Async)) return t.fail("only cp.async is known");
  if (op.has(Word::CommitGroup) || op.has(Word::WaitGroup) || op.has(Word::WaitAll)) return;
  const u32 bytes = static_cast<u32>(t.read(op.operands[2]));
  const u32 copied = op.operands.size() > 3 ? static_cast<u32>(t.read(op.operands[3])) : bytes;
  u8* to = t.memory(Space::Shared, t.read(op.operands[0]), bytes);
  if (to == nullptr) return;
  std::memset(to, 0, bytes);
  if (copied == 0) return;
  const u8* from = t.memory(Space::Global, t.read(op.operands[1]), bytes);
  if (from != nullptr) std::memcpy(to, from, std::min(copied, bytes));
}

// What an atomic operation stores.
u64 combine(const Instruction& op, u64 old, u64 a, u64 b) {
  const Type& type = op.type();
  if (op.has(Word::Exch)) return a;
  if (op.has(Word::Cas)) return old == a ? b : old;
  if (op.has(Word::And)) return old & a;
  if (op.has(Word::Or)) return old | a;
  if (op.has(Word::Xor)) return old ^ a;
  if (op.has(Word::Inc)) return old >= a ? 0 : old + 1;
  if (op.has(Word::Dec)) return old == 0 || old > a ? a : old - 1;
  if (!type.is_float()) {
    const i128 x = integer_of(old, type), y = integer_of(a, type);
    if (op.has(Word::Min)) return static_cast<u64>(std::min(x, y));
    if (op.has(Word::Max)) return static_cast<u64>(std::max(x, y));
    return static_cast<u64>(x + y);
  }
  u64 result = 0;
  for (u32 lane = 0; lane < type.lanes; ++lane) {
    const u32 at = lane * type.bits;
    const Number sum =
        add(number_of(old >> at, op, type), number_of(a >> at, op, type), Rounding::Nearest);
    result |= bits_of(sum, op, type) << at;
  }
  return result;
}

void change_memory(Thread& t, const Instruction& op, const Operand* result, usize first) {
  const u32 bytes = op.type().all_bits() / 8;
  u8* at = t.memory(op.space, t.read(op.operands[first]), bytes);
  if (at == nullptr) return;
  const u64 old = load(at, bytes), mask = mask_of(8 * bytes);
  const u64 a = t.read(op.operands[first + 1]) & mask;
  const u64 b = op.has(Word::Cas) ? t.read(op.operands[first + 2]) & mask : 0;
  store(at, combine(op, old, a, b), bytes);
  if (result != nullptr) t.write(*result, old);
}
void atom(Thread& t, const Instruction& op) { change_memory(t, op, &op.operands[0], 1); }
void red(Thread& t, const Instruction& op) { change_memory(t, op, nullptr, 0); }

// bar.sync, barrier.sync, bar.red: of all threads of the block.
void bar(Thread& t, const Instruction& op) {
  if (op.has(Word::Arrive)) return t.fail("bar.arrive is not known");
  t.state = Thread::State::Barrier;
}
void nothing(Thread&, const Instruction&) {}
void bra(Thread& t, const Instruction& op) { t.next = op.target; }
void ret(Thread& t, const Instruction&) { t.state = Thread::State::Ended; }
void trap(Thread& t, const Instruction&) { t.fail("trap"); }

}  // namespace

std::vector<HandlerEntry> memory_handlers() {
  return {{"ld", ld},
          {"ldu", ld},
          {"st", st},
          {"cp", cp},
          {"atom", atom},
          {"red", red},
          {"bar", bar},
          {"barrier", bar},
          {"membar", nothing},
          {"fence", nothing},
          {"nanosleep", nothing},
          {"bra", bra},
          {"ret", ret},
          {"exit", ret},
          {"trap", trap}};
}

}  // namespace doorbell::ptx
