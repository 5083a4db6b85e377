// Classes by the beginning of an instruction's name: AMD's names say which unit executes it.
// [RDNA3 ISA, chapters 5 to 12; CDNA3 ISA, the same]
#include "emulator/amd/isa/count/instruction_class.h"

#include <algorithm>
#include <span>

namespace doorbell::emu::amdgpu {

namespace {

struct Prefix {
  std::string_view begin;
  InstructionClass kind;
};

// The first that matches counts. Sets of names with the same first letters in each list, so that
// few are compared.
constexpr Prefix kScalarNames[] = {
    {"S_LOAD", InstructionClass::Constant},
    {"S_BUFFER_", InstructionClass::Constant},
    {"S_SCRATCH_", InstructionClass::Constant},
    {"S_STORE", InstructionClass::Constant},
    {"S_ATOMIC", InstructionClass::Constant},
    {"S_BRANCH", InstructionClass::Branch},
    {"S_CBRANCH", InstructionClass::Branch},
    {"S_SETPC", InstructionClass::Branch},
    {"S_SWAPPC", InstructionClass::Branch},
    {"S_CALL", InstructionClass::Branch},
    {"S_SUBVECTOR_LOOP", InstructionClass::Branch},
    {"S_ENDPGM", InstructionClass::Branch},
    {"S_TRAP", InstructionClass::Branch},
    {"S_BARRIER", InstructionClass::Barrier},
    {"S_GET_BARRIER_STATE", InstructionClass::Barrier},
    {"S_WAIT", InstructionClass::Other},
    {"S_NOP", InstructionClass::Other},
    {"S_DELAY_ALU", InstructionClass::Other},
    {"S_CLAUSE", InstructionClass::Other},
    {"S_SLEEP", InstructionClass::Other},
    {"S_SETPRIO", InstructionClass::Other},
    {"S_SENDMSG", InstructionClass::Other},
    {"S_DCACHE", InstructionClass::Other},
    {"S_ICACHE", InstructionClass::Other},
    {"S_GL1_INV", InstructionClass::Other},
    {"S_INST_PREFETCH", InstructionClass::Other},
    {"S_SET_INST_PREFETCH", InstructionClass::Other},
    {"S_PREFETCH", InstructionClass::Other},
    {"S_CODE_END", InstructionClass::Other},
    {"S_", InstructionClass::Scalar},
};
constexpr Prefix kVectorNames[] = {
    {"V_WMMA", InstructionClass::Matrix}, {"V_SWMMAC", InstructionClass::Matrix},
    {"V_MFMA", InstructionClass::Matrix}, {"V_SMFMAC", InstructionClass::Matrix},
    {"V_NOP", InstructionClass::Other},   {"V_", InstructionClass::Vector},
};
constexpr Prefix kMemoryNames[] = {
    {"DS_GWS", InstructionClass::Barrier},  {"DS_NOP", InstructionClass::Other},
    {"DS_", InstructionClass::Shared},      {"SCRATCH_", InstructionClass::Local},
    {"BUFFER_GL", InstructionClass::Other}, {"BUFFER_INV", InstructionClass::Other},
    {"BUFFER_WB", InstructionClass::Other}, {"GLOBAL_INV", InstructionClass::Other},
    {"GLOBAL_WB", InstructionClass::Other}, {"GLOBAL_", InstructionClass::Global},
    {"FLAT_", InstructionClass::Global},    {"BUFFER_", InstructionClass::Global},
    {"TBUFFER_", InstructionClass::Global},
};

}  // namespace

InstructionClass class_of(const Operation& op) {
  const std::string_view name = op.entry != nullptr ? op.entry->name : op.name;
  const std::span<const Prefix> list =
      name.starts_with("V_")   ? std::span<const Prefix>(kVectorNames)
      : name.starts_with("S_") ? std::span<const Prefix>(kScalarNames)
                               : std::span<const Prefix>(kMemoryNames);
  const auto found = std::ranges::find_if(
      list, [&](const Prefix& prefix) { return name.starts_with(prefix.begin); });
  return found == list.end() ? InstructionClass::Other : found->kind;
}

}  // namespace doorbell::emu::amdgpu
