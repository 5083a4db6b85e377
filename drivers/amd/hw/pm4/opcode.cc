// The vendor's names of opcodes.
#include "drivers/amd/hw/pm4/opcode.h"

namespace doorbell::amd::hw {

std::string_view name_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::Nop: return "NOP";
    case Opcode::SetBase: return "SET_BASE";
    case Opcode::ClearState: return "CLEAR_STATE";
    case Opcode::DispatchDirect: return "DISPATCH_DIRECT";
    case Opcode::DispatchIndirect: return "DISPATCH_INDIRECT";
    case Opcode::AtomicGds: return "ATOMIC_GDS";
    case Opcode::AtomicMem: return "ATOMIC_MEM";
    case Opcode::OcclusionQuery: return "OCCLUSION_QUERY";
    case Opcode::SetPredication: return "SET_PREDICATION";
    case Opcode::RegRmw: return "REG_RMW";
    case Opcode::CondExec: return "COND_EXEC";
    case Opcode::PredExec: return "PRED_EXEC";
    case Opcode::ContextControl: return "CONTEXT_CONTROL";
    case Opcode::IndirectBufferConst: return "INDIRECT_BUFFER_CONST";
    case Opcode::WriteData: return "WRITE_DATA";
    case Opcode::MemSemaphore: return "MEM_SEMAPHORE";
    case Opcode::WaitRegMem: return "WAIT_REG_MEM";
    case Opcode::IndirectBuffer: return "INDIRECT_BUFFER";
    case Opcode::CopyData: return "COPY_DATA";
    case Opcode::PfpSyncMe: return "PFP_SYNC_ME";
    case Opcode::CondWrite: return "COND_WRITE";
    case Opcode::EventWrite: return "EVENT_WRITE";
    case Opcode::ReleaseMem: return "RELEASE_MEM";
    case Opcode::DmaData: return "DMA_DATA";
    case Opcode::ContextRegRmw: return "CONTEXT_REG_RMW";
    case Opcode::AcquireMem: return "ACQUIRE_MEM";
    case Opcode::Rewind: return "REWIND";
    case Opcode::Interrupt: return "INTERRUPT";
    case Opcode::GenPdepte: return "GEN_PDEPTE";
    case Opcode::PrimeUtcl2: return "PRIME_UTCL2";
    case Opcode::LoadUconfigReg: return "LOAD_UCONFIG_REG";
    case Opcode::LoadShReg: return "LOAD_SH_REG";
    case Opcode::LoadConfigReg: return "LOAD_CONFIG_REG";
    case Opcode::LoadContextReg: return "LOAD_CONTEXT_REG";
    case Opcode::SetConfigReg: return "SET_CONFIG_REG";
    case Opcode::SetContextReg: return "SET_CONTEXT_REG";
    case Opcode::SetShReg: return "SET_SH_REG";
    case Opcode::SetShRegOffset: return "SET_SH_REG_OFFSET";
    case Opcode::SetQueueReg: return "SET_QUEUE_REG";
    case Opcode::SetUconfigReg: return "SET_UCONFIG_REG";
    case Opcode::SetUconfigRegIndex: return "SET_UCONFIG_REG_INDEX";
    case Opcode::WaitRegMem64: return "WAIT_REG_MEM64";
    case Opcode::CondPreempt: return "COND_PREEMPT";
    case Opcode::HdpFlush: return "HDP_FLUSH";
    case Opcode::InvalidateTlbs: return "INVALIDATE_TLBS";
    case Opcode::AqlPacket: return "AQL_PACKET";
    case Opcode::SetShRegIndex: return "SET_SH_REG_INDEX";
    case Opcode::SetResources: return "SET_RESOURCES";
    case Opcode::MapProcess: return "MAP_PROCESS";
    case Opcode::MapQueues: return "MAP_QUEUES";
    case Opcode::UnmapQueues: return "UNMAP_QUEUES";
    case Opcode::QueryStatus: return "QUERY_STATUS";
    case Opcode::RunList: return "RUN_LIST";
  }
  return {};
}

}  // namespace doorbell::amd::hw
