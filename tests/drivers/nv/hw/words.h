// The words in data/*.hex, which tinygrad 0.14.0 emitted (runtime/ops_nv.py; NVComputeQueue,
// NVCopyQueue, NVProgram with a kernel of 64 threads that NVRTC 13 compiled for sm_86 and sm_120).
// ga10x_* has AMPERE_COMPUTE_B, gb20x_* BLACKWELL_COMPUTE_B:
//
//   *_compute.pushbuffer  setup (windows 0x729300000000 and 0x729400000000, local memory at
//                         0x1020000000, 0x480000 bytes a TPC); wait(signal 0x10fffff040, 7);
//                         memory_barrier; exec of grid 300x2x1, block 64x1x1, then of grid 17x1x5,
//                         block 32x4x2, chained to the first; signal(8) by its QMD; timestamp at
//                         0x10fffff060; signal(9)
//   *_copy.pushbuffer     wait(9), copy of 0x80000010 bytes from 0x1100000000 to 0x1200000000,
//                         signal(10)
//   *.gpfifo              the entry for it: 0x1040000000 for compute, 0x1040010000 for copies
//   *.kernargs            memory at 0x1030000000: constant bank 0 and QMD of the first launch, at
//                         0x600 those of the second
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "base/util/types.h"
#include "tests/support/golden.h"

namespace doorbell::nv::hw::testing {

inline const std::string kFolder = "tests/drivers/nv/hw/data/";
inline constexpr u64 kKernargs = 0x1030000000;

inline std::vector<u32> words_of(const std::string& name) {
  std::istringstream text(doorbell::testing::read_source(kFolder + name + ".hex"));
  std::vector<u32> words;
  u32 one;
  while (text >> std::hex >> one) words.push_back(one);
  return words;
}

}  // namespace doorbell::nv::hw::testing
