// The facts that the steps of the probe test: names of rows of docs/hw/amd-facts.md, which has
// their sources. See facts.def for the list.
#pragma once

#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::tools {

enum class Fact : u8 {
#define FACT(name, heading, beginning) name,
#include "tools/amd_probe/facts.def"
#undef FACT
};

// Where a fact stands in docs/hw/amd-facts.md.
struct FactPlace {
  std::string_view heading, beginning;
};

inline constexpr FactPlace kFacts[] = {
#define FACT(name, heading, beginning) {heading, beginning},
#include "tools/amd_probe/facts.def"
#undef FACT
};

constexpr const FactPlace& place_of(Fact fact) { return kFacts[static_cast<usize>(fact)]; }

// docs/hw/amd-facts.md, "SDMA": pointers and doorbell count bytes
std::string text_of(Fact fact);

}  // namespace doorbell::tools
