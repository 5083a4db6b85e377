// The vendor's names of SDMA opcodes, and of values in SDMA packets.
#include "drivers/amd/hw/sdma/copy.h"

namespace doorbell::amd::hw {

std::string_view name_of(SdmaOp op) {
  switch (op) {
    case SdmaOp::Nop: return "NOP";
    case SdmaOp::Copy: return "COPY";
    case SdmaOp::Write: return "WRITE";
    case SdmaOp::Indirect: return "INDIRECT";
    case SdmaOp::Fence: return "FENCE";
    case SdmaOp::Trap: return "TRAP";
    case SdmaOp::Sem: return "SEM";
    case SdmaOp::PollRegmem: return "POLL_REGMEM";
    case SdmaOp::CondExe: return "COND_EXE";
    case SdmaOp::Atomic: return "ATOMIC";
    case SdmaOp::ConstFill: return "CONST_FILL";
    case SdmaOp::Ptepde: return "PTEPDE";
    case SdmaOp::Timestamp: return "TIMESTAMP";
    case SdmaOp::SrbmWrite: return "SRBM_WRITE";
    case SdmaOp::PreExe: return "PRE_EXE";
    case SdmaOp::GpuvmInv: return "GPUVM_INV";
    case SdmaOp::GcrReq: return "GCR_REQ";
    case SdmaOp::DummyTrap: return "DUMMY_TRAP";
  }
  return {};
}

std::string_view name_of(FillSize size) {
  switch (size) {
    case FillSize::Byte: return "Byte";
    case FillSize::Half: return "Half";
    case FillSize::Word: return "Word";
  }
  return {};
}

}  // namespace doorbell::amd::hw
