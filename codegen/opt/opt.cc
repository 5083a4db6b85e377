// Prints plans, for DEBUG=3 and goldens.
#include "codegen/opt/opt.h"

#include "base/util/format.h"

namespace doorbell::codegen {

std::string print(const Plan& plan) {
  constexpr const char* kNames[] = {"VECTOR", "UPCAST",     "UNROLL", "THREAD", "TILE",
                                    "STAGE",  "LOCAL",      "GROUP",  "ROWS",   "COLUMNS",
                                    "DEPTH",  "PERSISTENT", "JOIN"};
  std::string text;
  for (const Opt& o : plan) {
    if (!text.empty()) text += ' ';
    const char* name = kNames[static_cast<usize>(o.op)];
    text += o.op == OptOp::Stage && o.amount == 1 ? fmt::format("{}({})", name, o.axis)
            : o.op == OptOp::Persistent           ? fmt::format("{}({})", name, o.amount)
                                        : fmt::format("{}({},{})", name, o.axis, o.amount);
  }
  return text;
}

}  // namespace doorbell::codegen
