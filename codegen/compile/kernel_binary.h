// KernelBinary: a compiled kernel with everything needed to run it, and its form on disk. For
// loading the code see load_object.h or a driver, for the cache compile_cache.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

struct KernelBinary {
  std::string name;
  std::vector<ProgramParam> params;  // by slot
  std::vector<i64> variables;        // interned names, in argument order
  i64 threads = 1;
  i64 grid_groups[3] = {1, 1, 1}, group_items[3] = {1, 1, 1};
  i64 dynamic_shared_bytes = 0;  // that a launch asks for
  std::vector<core::TensorMap> tensor_maps;
  f64 flops = 0, bytes = 0;
  std::vector<u8> image;  // the compiler's output
};

// A program without its code.
KernelBinary describe(const LinearProgram& program);

// Variables by name, numbers little endian, behind a header with length and checksum.
std::vector<u8> encode(const KernelBinary& kernel);
// Fails for bytes that encode did not write, or that changed since, with the reason.
Result<KernelBinary> decode(std::span<const u8> bytes);

}  // namespace doorbell::codegen
