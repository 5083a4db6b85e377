// The decoder's text of a kernel beside nvdisasm's: name, guard and operands. Modifiers of names
// (".AND") and of operands (".reuse", ".H0_H0") are not part of our text.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "emulator/nv/compute/cubin.h"

namespace doorbell::emu::nvgpu::testing {

struct TextComparison {
  usize instructions = 0;
  std::vector<std::string> differences;     // a line each
  std::map<std::string, u64> executed;      // instructions by name, of those with a handler
  std::map<std::string, u64> not_executed;  // and of those without
};
// `theirs`: what nvdisasm -c prints of the file, whose first kernel is compared.
TextComparison compare_text(const std::string& theirs, const Cubin& cubin);
// `theirs`: what nvdisasm -b SM90 prints of instructions without a file format; chip: 90 of sm_90.
TextComparison compare_words(const std::string& theirs, std::span<const u8> code, u32 chip);

}  // namespace doorbell::emu::nvgpu::testing
