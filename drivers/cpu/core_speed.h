// The speeds of one core that no file tells, measured in a few milliseconds: multiply-adds by
// vector width, their latency, loads from each level of memory. For sizes of caches see
// base/os/cpu_topology.h; the results are kept by runtime/machine.h.
#pragma once

#include "base/os/clock.h"
#include "base/os/cpu_topology.h"
#include "base/util/result.h"

namespace doorbell::cpu {

struct CoreSpeed {
  // Of single-precision multiply-adds of a whole register, in nanoseconds, at the clock that the
  // width leaves; 0: there are no such registers.
  struct Fma {
    f64 each_ns = 0;   // one, of many that do not depend on each other
    f64 chain_ns = 0;  // one that the next waits for
    // How many must be in progress for full speed: latency times ports.
    f64 in_flight() const { return each_ns > 0 ? chain_ns / each_ns : 0; }
  };
  f64 add_ns = 0;  // an addition of integers that the next waits for: a cycle
  Fma narrow;      // registers of 16 bytes on Arm, of 32 on x86
  Fma wide;        // of 64 bytes
  // Bytes in a nanosecond, of one core that loads whole registers.
  f64 l1 = 0, l2 = 0, l3 = 0, memory = 0;

  static void fields(auto& speed, auto f) {
    auto& [add_ns, narrow, wide, l1, l2, l3, memory] = speed;
    f("add_ns", add_ns);
    f("narrow_fma_ns", narrow.each_ns);
    f("narrow_chain_ns", narrow.chain_ns);
    f("wide_fma_ns", wide.each_ns);
    f("wide_chain_ns", wide.chain_ns);
    f("l1_bytes_per_ns", l1);
    f("l2_bytes_per_ns", l2);
    f("l3_bytes_per_ns", l3);
    f("memory_bytes_per_ns", memory);
  }
};

// Loops to be timed, of this machine or of a test. Each runs its operation `count` times.
struct SpeedLoops {
  using Loop = void (*)(i64 count);
  Loop add = nullptr;
  struct Fma {
    Loop many = nullptr, chain = nullptr;  // null: no such registers
  };
  Fma narrow, wide;
  // Loads each byte of [data, data + bytes), a multiple of 1024.
  void (*load)(const u8* data, i64 bytes) = nullptr;
  // The next load of any of these bytes comes from memory.
  void (*flush)(const u8* data, i64 bytes) = nullptr;
};

// Empty where this processor's are not written yet.
SpeedLoops host_speed_loops();

// Takes the shortest of several runs of each, since others may use the core. Fails if the clock
// stands still. Blocks for a few milliseconds.
Result<CoreSpeed> measure_core(const SpeedLoops& loops, const os::CoreKind& kind, os::Clock& clock);

}  // namespace doorbell::cpu
