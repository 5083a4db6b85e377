// formula and log_firing.
#include "core/rewrite/trace.h"

#include <fmt/format.h>

#include "base/util/log.h"

namespace doorbell::core {

// Recursive as deep as `levels`.
std::string formula(UOp uop, int levels) {
  switch (uop.op()) {
    case Op::Const:
      return uop.dtype().is_float() ? fmt::format("{}", uop.const_float())
                                    : fmt::format("{}", uop.const_int());
    case Op::Range: return fmt::format("r{}", uop.range_id());
    // Variables that stand for assumed bounds have negative numbers instead of names.
    case Op::Variable: return fmt::format("v{}", uop.arg(0));
    case Op::Param: return fmt::format("p{}", uop.arg(0));
    default: break;
  }
  std::string text = fmt::format("{}(", name_of(uop.op()));
  for (usize i = 0; i < uop.nsrc(); ++i) {
    if (i > 0) text += ", ";
    text += levels > 0 ? formula(uop.src(i), levels - 1) : "...";
  }
  return text + ")";
}

void log_firing(void*, const Rule& rule, UOp before, UOp after) {
  log().info("rewrite {}: {} -> {}", rule.name, formula(before), formula(after));
}

}  // namespace doorbell::core
