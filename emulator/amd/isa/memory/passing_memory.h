// PassingMemory: a Memory between the handlers and another one, to which it passes all on: for
// those that look at accesses. Not direct: handlers ask for each lane's bytes.
#pragma once

#include "emulator/amd/isa/memory/memory.h"

namespace doorbell::emu::amdgpu {

class PassingMemory : public Memory {
 public:
  explicit PassingMemory(Memory& memory) : memory_(memory) {}  // borrowed

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override {
    return passed(memory_.load(va, bytes, out, policy));
  }
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override {
    return passed(memory_.store(va, bytes, in, policy));
  }
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override {
    return passed(memory_.atomic(va, bytes, update, operand, compare, before, policy));
  }
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override {
    return passed(memory_.scalar_load(va, bytes, out, policy));
  }
  bool fetch(u64 va, u32 bytes, void* out) override {
    return passed(memory_.fetch(va, bytes, out));
  }
  void cache(CacheOperation operation, CachePolicy policy) override {
    memory_.cache(operation, policy);
  }
  void select(u32 compute_unit) override { memory_.select(compute_unit); }

 private:
  bool passed(bool succeeded) {
    if (!succeeded) fault_ = memory_.fault();
    return succeeded;
  }

  Memory& memory_;
};

}  // namespace doorbell::emu::amdgpu
