// The chip: silicon in a real backend. It has memory that the host can access only by copying, and
// runs one program at a time. Bad programs and bad addresses are faults, as on hardware.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "base/util/result.h"
#include "examples/backend/isa.h"

namespace doorbell::abacus {

// Thread safety: all functions may be called from any thread; programs run one after another.
class Chip {
 public:
  explicit Chip(i64 bytes) : memory_(static_cast<usize>(bytes)) {}

  i64 memory_bytes() const { return static_cast<i64>(memory_.size()); }
  // Addresses are offsets into the memory.
  Result<void> write(u64 address, const void* from, i64 bytes);
  Result<void> read(void* to, u64 address, i64 bytes);
  Result<void> move(u64 to, u64 from, i64 bytes);
  // `code` comes from decode(). A fault ends the program at once.
  Result<void> run(const Code& code, std::span<const u64> buffers, std::span<const i64> variables);

 private:
  Result<void> check(u64 address, i64 bytes) const;

  std::mutex mutex_;  // guards the memory's contents
  std::vector<u8> memory_;
};

}  // namespace doorbell::abacus
