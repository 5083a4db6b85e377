// C text that every exported program begins with; see c_weights.cc.
#pragma once

namespace doorbell::detail {

extern const char* const kCWeights;

}  // namespace doorbell::detail
