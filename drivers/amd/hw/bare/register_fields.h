// A register's word as people read it: its fields by the vendor's names. Where the fields lie is in
// fields.h; a register that has one value has none here.
#pragma once

#include <string_view>
#include <vector>

#include "drivers/amd/hw/bare/page_table.h"
#include "drivers/amd/hw/bare/registers.h"

namespace doorbell::amd::hw {

struct NamedField {
  std::string_view name;
  u64 value = 0;
};

std::vector<NamedField> register_fields(Reg reg, u32 word, BareChip chip);
std::vector<NamedField> page_entry_fields(u64 bits, BareChip chip);

// Reading these changes something: the semaphore is taken, the data register reads whatever the
// index names. [gmc_v11_0.c gmc_v11_0_flush_gpu_tlb(): "a read return value of 1 means semaphore
// acquire"; amdgpu_device.c amdgpu_device_indirect_rreg()]
constexpr bool changes_when_read(Reg reg) {
  return reg == Reg::MmvmInvalidateEng17Sem || reg == Reg::GcvmInvalidateEng17Sem ||
         reg == Reg::BifBxPf0RsmuData;
}
// There is one of these for each queue of each pipe; GRBM_GFX_CNTL selects whose is reached.
constexpr bool is_of_a_queue(Reg reg) {
  return reg == Reg::CpMqdBaseAddr || reg == Reg::CpHqdActive || reg == Reg::CpHqdDequeueRequest ||
         reg == Reg::CpHqdPqWptrHi;
}

}  // namespace doorbell::amd::hw
