// Classes by name, and uniform instructions by their flag: all others work on lanes.
// [CUDA Binary Utilities 13, "Instruction Set Reference"]
#include "emulator/nv/isa/instruction_class.h"

#include <algorithm>
#include <array>

namespace doorbell::emu::nvgpu {

namespace {

struct Name {
  std::string_view name;
  InstructionClass kind;
};

constexpr Name kNames[] = {
    {"HMMA", InstructionClass::Matrix},
    {"IMMA", InstructionClass::Matrix},
    {"QMMA", InstructionClass::Matrix},
    {"HGMMA", InstructionClass::Matrix},
    {"IGMMA", InstructionClass::Matrix},
    {"QGMMA", InstructionClass::Matrix},
    {"LDC", InstructionClass::Constant},
    {"ULDC", InstructionClass::Constant},
    {"LDS", InstructionClass::Shared},
    {"STS", InstructionClass::Shared},
    {"ATOMS", InstructionClass::Shared},
    {"ATOMS.CAS", InstructionClass::Shared},
    {"LDSM", InstructionClass::Shared},
    {"STSM", InstructionClass::Shared},
    {"LD", InstructionClass::Global},
    {"LDG", InstructionClass::Global},
    {"ST", InstructionClass::Global},
    {"STG", InstructionClass::Global},
    {"ATOM", InstructionClass::Global},
    {"ATOMG", InstructionClass::Global},
    {"RED", InstructionClass::Global},
    {"REDG", InstructionClass::Global},
    {"LDGSTS", InstructionClass::Global},
    {"UBLKCP", InstructionClass::Bulk},
    {"UTMALDG", InstructionClass::Bulk},
    {"UTMASTG", InstructionClass::Bulk},
    {"UTMACMDFLUSH", InstructionClass::Other},
    {"LDL", InstructionClass::Local},
    {"STL", InstructionClass::Local},
    {"BSYNC", InstructionClass::Branch},
    {"BREAK", InstructionClass::Branch},
    {"BSSY", InstructionClass::Branch},
    {"CALL.ABS", InstructionClass::Branch},
    {"CALL.REL", InstructionClass::Branch},
    {"BRA", InstructionClass::Branch},
    {"BRX", InstructionClass::Branch},
    {"RET", InstructionClass::Branch},
    {"EXIT", InstructionClass::Branch},
    {"ENDCOLLECTIVE", InstructionClass::Branch},
    {"WARPSYNC", InstructionClass::Branch},
    {"YIELD", InstructionClass::Branch},
    {"BPT", InstructionClass::Branch},
    {"BAR", InstructionClass::Barrier},
    {"SYNCS", InstructionClass::Barrier},
    {"ARRIVES", InstructionClass::Barrier},
    {"SYNCS.CCTL", InstructionClass::Barrier},
    {"SYNCS.EXCH", InstructionClass::Barrier},
    {"WARPGROUP", InstructionClass::Other},
    {"NOP", InstructionClass::Other},
    {"NANOSLEEP", InstructionClass::Other},
    {"DEPBAR", InstructionClass::Other},
    {"LDGDEPBAR", InstructionClass::Other},
    {"CCTL", InstructionClass::Other},
    {"MEMBAR", InstructionClass::Other},
    {"ERRBAR", InstructionClass::Other},
    {"FENCE.VIEW.ASYNC", InstructionClass::Other},
};

InstructionClass find_class(const Opcode& opcode) {
  const auto* found = std::ranges::find(kNames, opcode.name, &Name::name);
  if (found != std::end(kNames)) return found->kind;
  return opcode.flags & kUniform ? InstructionClass::Scalar : InstructionClass::Vector;
}

// By the opcode's number.
const std::array<InstructionClass, 512>& classes() {
  static const auto* const kClasses = [] {
    auto* made = new std::array<InstructionClass, 512>;
    made->fill(InstructionClass::Other);
    for (const Opcode& opcode : all_opcodes()) made->at(opcode.number) = find_class(opcode);
    return made;
  }();
  return *kClasses;
}

}  // namespace

InstructionClass class_of(const Opcode* opcode) {
  return opcode == nullptr ? InstructionClass::Other : classes()[opcode->number];
}

}  // namespace doorbell::emu::nvgpu
