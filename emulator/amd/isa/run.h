// The interpreter's loop: a wave, from its pc, until it stops or has used up its budget.
#pragma once

#include "emulator/amd/isa/code_cache.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emulator::amd {

// Runs at least one block and then until `budget` instructions have been executed. The memory is
// the policy whose handlers the cache was made with.
//
// Exit::Kind::Budget leaves the wave between two instructions. An illegal instruction and a fault
// leave it before theirs.
template <class Memory>
Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget);

namespace detail {

template <class Memory>
class PolicyReader final : public CodeReader {
 public:
  explicit PolicyReader(Memory& memory) : memory_(memory) {}
  bool fetch(u64 va, u32 bytes, void* out) override { return memory_.fetch(va, bytes, out); }

 private:
  Memory& memory_;
};

Exit run(Wave& wave, CodeCache& cache, CodeReader& reader, u64 budget);

}  // namespace detail

template <class Memory>
Exit run(Wave& wave, Memory& memory, CodeCache& cache, u64 budget) {
  detail::PolicyReader<Memory> reader(memory);
  wave.memory = &memory;
  return detail::run(wave, cache, reader, budget);
}

}  // namespace doorbell::emulator::amd
