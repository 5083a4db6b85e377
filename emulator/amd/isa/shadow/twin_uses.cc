// Finds uses by the instruction's name, once for each instruction.
#include "emulator/amd/isa/shadow/twin_uses.h"

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/decode/register_bounds.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

void lds_uses(const Operation& op, std::string_view name, OperandUses& uses) {
  const Shape& shape = op.entry->shape;
  uses.first_lane = name.starts_with("DS_GWS_") && shape.wide[1] != 0;
  if ((shape.flags & kNoLaneAddress) != 0) return;
  uses.vector_rows = 1;
  uses.lds = true;
}

void memory_uses(const Operation& op, std::string_view name, OperandUses& uses) {
  const u32 flags = op.entry->shape.flags;
  uses.m0_address = (flags & kM0Address) != 0;
  uses.m0_operand = (flags & kM0Selects) != 0;
  uses.lower_half = (flags & kLowerLanes) != 0;
  if (name.starts_with("DS_")) return lds_uses(op, name, uses);
  // The cache instructions have the formats, and no operands.
  if (has(name, "_INV") || has(name, "_WB") || has(name, "GL0") || has(name, "GL1")) return;
  const bool vector =
      op.src[kAddress].kind == Source::Kind::Vector && (flags & kNoLaneAddress) == 0;
  uses.scalar = kScalarAddress;
  if (name.starts_with("BUFFER_") || name.starts_with("TBUFFER_")) {
    uses.vector_rows = static_cast<u8>(((op.flags & kMemoryIndex) != 0 ? 1 : 0) +
                                       ((op.flags & kMemoryOffset) != 0 ? 1 : 0));
    uses.address_words = 4;
    uses.offset = kScalarOffset + 1;
    return;
  }
  const bool scalar = op.src[kScalarAddress].kind == Source::Kind::Scalar;
  if (name.starts_with("SCRATCH_")) {
    uses.vector_rows = vector ? 1 : 0;
    uses.address_words = scalar ? 1 : 0;
    return;
  }
  uses.vector_rows = !vector ? 0 : scalar ? 1 : 2;
  uses.address_words = scalar ? 2 : 0;
}

// The message whose payload is in M0: MSG_INTERRUPT. [RDNA3 ISA, "Messages"]
bool is_interrupt(const Operation& op, std::string_view name) {
  return (name == "S_SENDMSG" || name == "S_SENDMSGHALT") && (op.immediate & 0xff) == 1;
}

bool is_scalar_access(std::string_view name) {
  for (std::string_view into : {"S_", "S_BUFFER_", "S_SCRATCH_"}) {
    if (!name.starts_with(into)) continue;
    const std::string_view what = name.substr(into.size());
    for (std::string_view access : {"LOAD_", "STORE_", "ATOMIC_"}) {
      if (what.starts_with(access)) return true;
    }
  }
  return false;
}

u16 vector_results(const Operation& op) {
  const Shape& shape = op.entry->shape;
  const std::string_view name = op.entry->name;
  if ((shape.flags & kMemory) != 0) return shape.wide[0];
  if (!name.starts_with("V_") || (shape.flags & (kCompare | kScalarDst)) != 0) return 0;
  if (shape.dst == Type::None) return 0;
  return static_cast<u16>(result_registers(op));
}

}  // namespace

OperandUses operand_uses(const Operation& op) {
  OperandUses uses;
  if (op.entry == nullptr) return uses;
  const std::string_view name = op.entry->name;
  const Shape& shape = op.entry->shape;
  uses.vector_dst = vector_results(op);
  uses.compares = (shape.flags & kCompare) != 0;
  if ((shape.flags & kMemory) != 0) {
    memory_uses(op, name, uses);
    return uses;
  }
  if (is_scalar_access(name)) {
    uses.address_words = name.starts_with("S_BUFFER") ? 4 : 2;
    uses.scalar = 0;
    uses.offset = 2;
    return uses;
  }
  uses.m0_operand = has(name, "MOVREL") || has(name, "SWAPREL") || is_interrupt(op, name) ||
                    (has(name, "BARRIER") && name.ends_with("_M0"));
  uses.lane = name == "V_READLANE_B32" || name == "V_WRITELANE_B32";
  uses.value = name == "S_SETREG_B32" || name == "S_SETVSKIP" || name == "S_SET_GPR_IDX_ON" ||
               name == "S_SET_GPR_IDX_IDX";
  uses.elsewhere = has(name, "MOVREL") || has(name, "SWAP");
  uses.vcc_branch = name.starts_with("S_CBRANCH_VCC");
  uses.reads_scc = name.starts_with("S_CSELECT") || name.starts_with("S_CMOV") ||
                   name.starts_with("S_ADDC") || name.starts_with("S_SUBB");
  const bool scalar = name.starts_with("S_");
  uses.compares |= scalar && (shape.flags & kEndsBlock) == 0 && !uses.value && !has(name, "GETREG");
  return uses;
}

}  // namespace doorbell::emu::amdgpu
