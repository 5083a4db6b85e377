// Names of the small enums beside Op.
#include "core/uop/op.h"

namespace doorbell::core {

std::string_view name_of(AxisType type) {
  constexpr std::string_view kNames[] = {"global", "thread", "local",  "loop",  "group_reduce",
                                         "reduce", "unroll", "upcast", "vector"};
  return kNames[static_cast<usize>(type)];
}

}  // namespace doorbell::core
