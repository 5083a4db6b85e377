// The names of the values in AQL packets.
#include "drivers/amd/hw/aql.h"

namespace doorbell::amd::hw {

std::string_view name_of(AqlType type) {
  switch (type) {
    case AqlType::VendorSpecific: return "VendorSpecific";
    case AqlType::Invalid: return "Invalid";
    case AqlType::KernelDispatch: return "KernelDispatch";
    case AqlType::BarrierAnd: return "BarrierAnd";
    case AqlType::AgentDispatch: return "AgentDispatch";
    case AqlType::BarrierOr: return "BarrierOr";
  }
  return {};
}

std::string_view name_of(FenceScope scope) {
  switch (scope) {
    case FenceScope::None: return "None";
    case FenceScope::Agent: return "Agent";
    case FenceScope::System: return "System";
  }
  return {};
}

}  // namespace doorbell::amd::hw
