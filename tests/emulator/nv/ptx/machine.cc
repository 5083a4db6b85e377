// Runs the blocks of a grid in order; in a block, each thread until it waits.
#include "tests/emulator/nv/ptx/machine.h"

#include <fmt/format.h>

#include <cstring>

namespace doorbell::ptx {

namespace {

using State = Thread::State;

// A block's threads, and who waits for whom.
class Run {
 public:
  Run(Block& block, Outcome& outcome) : block_(block), outcome_(outcome) { start(); }

  void to_end() {
    while (outcome_.fault.empty()) {
      bool progress = false, alive = false;
      for (Thread& thread : block_.threads) {
        progress |= thread.state == State::Ready;
        alive |= thread.state != State::Ended;
        if (!run_thread(thread)) return;
      }
      if (!alive) return;
      for (usize first = 0; first < block_.threads.size(); first += kWarp)
        progress |= execute_together(first);
      progress |= release_barrier();
      if (!progress) outcome_.fault = describe_wait();
    }
  }

 private:
  void start() {
    const std::array<u32, 3>& extent = block_.grid.block;
    block_.threads.resize(usize{extent[0]} * extent[1] * extent[2]);
    for (usize i = 0; i < block_.threads.size(); ++i) {
      Thread& thread = block_.threads[i];
      thread.block = &block_;
      thread.number = static_cast<u32>(i);
      thread.index = {thread.number % extent[0], thread.number / extent[0] % extent[1],
                      thread.number / extent[0] / extent[1]};
      thread.registers.resize(block_.kernel.register_bits.size());
      thread.local.resize(block_.kernel.local_bytes);
    }
  }

  bool run_thread(Thread& thread) {
    constexpr u32 kTurn = 100'000;  // then others may run, for whom the thread may wait
    const std::vector<Instruction>& code = block_.kernel.instructions;
    for (u32 turn = 0; thread.state == State::Ready && turn < kTurn; ++turn) {
      const Instruction& op = code[thread.pc];
      ++outcome_.instructions;
      thread.next = thread.pc + 1;
      const bool executed =
          op.guard < 0 || (thread.registers[static_cast<usize>(op.guard)] != 0) != op.guard_not;
      if (executed && op.together != nullptr) {
        thread.state = State::Together;
        break;
      }
      if (executed) op.handler(thread, op);
      if (!thread.fault.empty()) {
        outcome_.fault =
            fmt::format("{}, block ({}, {}, {}), thread {}: {}", op.text, block_.index[0],
                        block_.index[1], block_.index[2], thread.number, thread.fault);
        return false;
      }
      thread.pc = thread.next;
    }
    outcome_.too_long |=
        block_.grid.most_instructions != 0 && outcome_.instructions > block_.grid.most_instructions;
    return !outcome_.too_long;
  }

  // Those of a warp that wait at one instruction go on when no other one of them can still come:
  // masks of members name all that will.
  bool execute_together(usize first) {
    const usize end = std::min(first + kWarp, block_.threads.size());
    const Thread* leader = nullptr;
    for (usize i = first; i < end; ++i) {
      const Thread& thread = block_.threads[i];
      if (thread.state == State::Ready) return false;
      if (thread.state == State::Together && (leader == nullptr || thread.pc < leader->pc))
        leader = &thread;
    }
    if (leader == nullptr) return false;
    const Instruction& op = block_.kernel.instructions[leader->pc];
    Group group;
    for (usize i = first; i < end; ++i) {
      Thread& thread = block_.threads[i];
      if (thread.state == State::Together && thread.pc == op.pc) group.threads[i - first] = &thread;
    }
    op.together(group, op);
    group.each([&](Thread& thread) {
      if (!thread.fault.empty()) outcome_.fault = op.text + ": " + thread.fault;
      thread.state = State::Ready;
      thread.pc = op.pc + 1;
    });
    return true;
  }

  // bar.sync, of all threads that did not end.
  bool release_barrier() {
    const Instruction* op = nullptr;
    for (const Thread& thread : block_.threads) {
      if (thread.state == State::Ended) continue;
      if (thread.state != State::Barrier) return false;
      const Instruction& at = block_.kernel.instructions[thread.pc - 1];
      if (op != nullptr && op != &at) return false;
      op = &at;
    }
    if (op == nullptr) return false;
    if (op->has(Word::Red)) reduce(*op);
    for (Thread& thread : block_.threads)
      if (thread.state == State::Barrier) thread.state = State::Ready;
    return true;
  }

  // bar.red.popc.u32 d, barrier, p;  bar.red.and.pred p, barrier, q;
  void reduce(const Instruction& op) {
    u32 votes = 0, voters = 0;
    for (const Thread& thread : block_.threads) {
      if (thread.state != State::Barrier) continue;
      ++voters;
      votes += thread.read(op.operands.back()) != 0 ? 1 : 0;
    }
    const u32 result = op.has(Word::Popc)  ? votes
                       : op.has(Word::And) ? u32{votes == voters}
                                           : u32{votes != 0};
    for (Thread& thread : block_.threads)
      if (thread.state == State::Barrier) thread.write(op.operands.front(), result);
  }

  std::string describe_wait() const {
    for (const Thread& thread : block_.threads) {
      if (thread.state == State::Barrier)
        return fmt::format("thread {} waits for ever at {}", thread.number,
                           block_.kernel.instructions[thread.pc - 1].text);
    }
    return "all threads wait";
  }

  Block& block_;
  Outcome& outcome_;
};

u32 special(const Thread& thread, Special which) {
  const Block& block = *thread.block;
  const auto axis = [which](Special first) {
    return static_cast<usize>(which) - static_cast<usize>(first);
  };
  const u32 bit = u32{1} << thread.lane();
  switch (which) {
    case Special::TidX:
    case Special::TidY:
    case Special::TidZ: return thread.index[axis(Special::TidX)];
    case Special::NtidX:
    case Special::NtidY:
    case Special::NtidZ: return block.grid.block[axis(Special::NtidX)];
    case Special::CtaidX:
    case Special::CtaidY:
    case Special::CtaidZ: return block.index[axis(Special::CtaidX)];
    case Special::NctaidX:
    case Special::NctaidY:
    case Special::NctaidZ: return block.grid.grid[axis(Special::NctaidX)];
    case Special::LaneId: return thread.lane();
    case Special::WarpId: return thread.number / kWarp;
    case Special::LaneMaskEq: return bit;
    case Special::LaneMaskLt: return bit - 1;
    case Special::LaneMaskLe: return bit | (bit - 1);
    case Special::LaneMaskGt: return ~(bit | (bit - 1));
    case Special::LaneMaskGe: return ~(bit - 1);
  }
  return 0;
}

}  // namespace

u64 Thread::read(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::Register: {
      const u64 value = registers[operand.index];
      // An address has an offset. A predicate may be complemented.
      return operand.is_not ? u64{value == 0} : value + operand.value;
    }
    case Operand::Kind::Immediate: return operand.value;
    case Operand::Kind::Special: return special(*this, static_cast<Special>(operand.index));
    case Operand::Kind::Vector:
    case Operand::Kind::Nothing: break;
  }
  return 0;
}

void Thread::write(const Operand& operand, u64 value) {
  if (operand.kind != Operand::Kind::Register) return;
  registers[operand.index] = value & mask_of(block->kernel.register_bits[operand.index]);
}

void Thread::fail(std::string message) {
  if (fault.empty()) fault = std::move(message);
}

u8* Thread::memory(Space space, u64 address, u32 count, u32 alignment) {
  if (address % alignment != 0) {
    fail(fmt::format("address {:#x} is no multiple of {}", address, alignment));
    return nullptr;
  }
  std::span<u8> bytes;
  if (space == Space::Generic && address - kSharedWindow < kWindowBytes) {
    space = Space::Shared;
    address -= kSharedWindow;
  } else if (space == Space::Generic && address - kLocalWindow < kWindowBytes) {
    space = Space::Local;
    address -= kLocalWindow;
  }
  if (space == Space::Shared) {
    bytes = block->shared;
  } else if (space == Space::Local) {
    bytes = local;
  } else {
    for (const Region& region : block->grid.memory) {
      if (address - region.address >= region.bytes.size()) continue;
      bytes = region.bytes;
      address -= region.address;
      break;
    }
  }
  if (address + count <= bytes.size()) return bytes.data() + address;
  fail(fmt::format("{} bytes at {:#x} are outside of memory", count, address));
  return nullptr;
}

Outcome run(const Kernel& kernel, const Grid& grid) {
  Outcome outcome;
  for (u32 z = 0; z < grid.grid[2]; ++z) {
    for (u32 y = 0; y < grid.grid[1]; ++y) {
      for (u32 x = 0; x < grid.grid[0]; ++x) {
        Block block{kernel, grid, {x, y, z}};
        block.shared.resize(usize{kernel.shared_bytes} + grid.dynamic_shared);
        Run(block, outcome).to_end();
        if (!outcome.fault.empty() || outcome.too_long) return outcome;
      }
    }
  }
  return outcome;
}

}  // namespace doorbell::ptx
