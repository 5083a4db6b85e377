// Instructions to be run on many values, by what they are about. For the kernels around them see
// instruction_test.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/emulator/nv/ptx/both.h"

namespace doorbell::ptx {

// What the sources hold: the kinds of values that are hard for an instruction.
enum class Values : u8 { Integers, Floats, Doubles, Halves, Brains };

// Sources are %ra, %rb, %rc, %re of 32 bits, %da, %db, %dc of 64, %ha, %hb, %hc of 16. Results are
// %r0, %d0 or %h0, as the type says. %t0 to %t9, %u0 to %u9, %s0 to %s9 and %p0 to %p9 are free.
struct Case {
  std::string_view type;  // of the result, as PTX names it
  std::string text;
  Tolerance tolerance{};
  u32 first_chip = 86;
};
struct CaseGroup {
  const char* name;
  Values values;
  std::vector<Case> cases;
};
const std::vector<CaseGroup>& case_groups();

}  // namespace doorbell::ptx
