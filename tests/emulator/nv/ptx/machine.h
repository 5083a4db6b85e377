// The machine that PTX describes: threads, the memory that each sees, and barriers. Threads run one
// after the other, each until it waits or ends; no order of them is assumed. For the instructions
// see the files of module.h's handlers.
//
// Thread safety: none; everything runs on the calling thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/nv/ptx/module.h"

namespace doorbell::ptx {

constexpr u32 kWarp = 32;
// Generic addresses of a thread's shared and local memory.
constexpr u64 kSharedWindow = u64{1} << 56, kLocalWindow = u64{1} << 57,
              kWindowBytes = u64{1} << 32;

// Global memory: bytes of the host at an address of the GPU.
struct Region {
  u64 address = 0;
  std::span<u8> bytes;  // borrowed
};

struct Grid {
  std::array<u32, 3> grid{1, 1, 1}, block{1, 1, 1};  // blocks; threads of a block
  std::vector<u8> parameters;
  u32 dynamic_shared = 0;  // bytes of shared memory besides those that the kernel declares
  std::vector<Region> memory;
  u64 most_instructions = 0;  // of all threads together; 0: no limit
};

struct Outcome {
  std::string fault;  // empty: none
  bool too_long = false;
  u64 instructions = 0;
};

Outcome run(const Kernel& kernel, const Grid& grid);

// ---- for the instructions

struct Block {
  const Kernel& kernel;
  const Grid& grid;
  std::array<u32, 3> index{};
  std::vector<u8> shared{};
  std::vector<Thread> threads{};
};

struct Thread {
  enum class State : u8 { Ready, Together, Barrier, Ended };

  Block* block = nullptr;
  u32 number = 0;  // in the block
  std::array<u32, 3> index{};
  std::vector<u64> registers;  // bits above the register's are zeros
  std::vector<u8> local;
  u32 carry = 0;  // CC.CF
  u32 pc = 0, next = 0;
  State state = State::Ready;
  std::string fault;

  u32 lane() const { return number % kWarp; }
  u64 read(const Operand& operand) const;
  void write(const Operand& operand, u64 value);
  // `count` bytes there, or null and a fault.
  u8* memory(Space space, u64 address, u32 count) { return memory(space, address, count, count); }
  // At a multiple of `alignment`.
  u8* memory(Space space, u64 address, u32 count, u32 alignment);
  void fail(std::string message);
  // The source operands of an instruction begin after its only result.
  u64 source(const Instruction& op, usize number) const { return read(op.operands[number + 1]); }
};

// Threads of a warp that execute an instruction together, by lane; absent ones are null.
class Group {
 public:
  std::array<Thread*, kWarp> threads{};
  u32 mask() const {
    u32 mask = 0;
    for (u32 lane = 0; lane < kWarp; ++lane) mask |= u32{threads[lane] != nullptr} << lane;
    return mask;
  }
  template <class Function>
  void each(Function function) {
    for (Thread* thread : threads)
      if (thread != nullptr) function(*thread);
  }
};

// What an operand's value is as a signed number of the type's bits.
inline i64 sign_extended(u64 value, u32 bits) {
  return static_cast<i64>(value << (64 - bits)) >> (64 - bits);
}
inline u64 mask_of(u32 bits) { return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1; }
inline i128 integer_of(u64 value, const Type& type) {
  return type.is_signed() ? i128{sign_extended(value, type.bits)}
                          : static_cast<i128>(value & mask_of(type.bits));
}

}  // namespace doorbell::ptx
