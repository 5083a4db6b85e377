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

std::string_view name_of(QueueError error) {
  struct Row {
    QueueError error;
    std::string_view name;
  };
  constexpr Row kRows[] = {
      {QueueError::ScratchWave64, "too little private memory for waves of 64"},
      {QueueError::ScratchWave32, "too little private memory for waves of 32"},
      {QueueError::Dimensions, "invalid grid dimensions"},
      {QueueError::GroupMemory, "too much local memory"},
      {QueueError::Code, "invalid code object"},
      {QueueError::PacketFormat, "invalid packet format"},
      {QueueError::GroupSize, "group too large"},
      {QueueError::Registers, "too many registers"},
      {QueueError::VendorPacket, "invalid PM4 packet"},
  };
  for (const Row& row : kRows)
    if ((static_cast<u64>(error) & static_cast<u64>(row.error)) != 0) return row.name;
  return {};
}

}  // namespace doorbell::amd::hw
