// S_GETREG and S_SETREG: a wave's hardware registers, by the chip's numbers. A register that is not
// in the table stops the wave, and so do unknown bits of one, because their value is not known.
// [Numbers: AMD's ISA documents, tables "Hardware register"; LLVM AMDGPUAsmUtils.cpp, namespace
// Hwreg; 20 to 21 of gfx10: LLVM SIFrameLowering.cpp emitEntryFunctionFlatScratchInit. Fields:
// STATUS: ROCdbgapi src/architecture.cpp, sq_wave_status_*; LDS_ALLOC: Linux
// cwsr_trap_handler_gfx9.asm, _gfx10.asm, _gfx12.asm, L_SAVE_LDS; HW_ID, XCC_ID: HIP
// amd_device_functions.h; HW_ID1 of gfx12: PAL gfx12_merged_mask.h; SHADER_CYCLES, of 20 bits
// before gfx12: LLVM SOPInstructions.td, readcyclecounter]
#include <fmt/format.h>

#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/number/host_float.h"
#include "emulator/amd/isa/scalar/scalar_op.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

using enum Generation;

struct HardwareRegister {
  u32 id;
  Generation first, last;  // that have it under this number
  u32 known;               // its bits that read() gives; none: it is only written
  u32 (*read)(const Wave&);
  void (*write)(Wave&, u32);  // null: kernels may not
};

constexpr u32 kExecz = 1u << 9, kVccz = 1u << 10;
u32 read_zeros(const Wave& wave) {
  return (wave.exec() == 0 ? kExecz : 0) | (wave.vcc() == 0 ? kVccz : 0);
}
u32 read_status(const Wave& wave) { return wave.scc | read_zeros(wave); }
constexpr u32 kStatePrivScc = 1u << 9;
u32 read_state_priv(const Wave& wave) { return wave.scc != 0 ? kStatePrivScc : 0; }
u32 read_mode(const Wave& wave) { return wave.mode_bits(); }
u32 read_xcc(const Wave& wave) { return wave.xcc; }

// LDS_SIZE from bit 12 on, in blocks of 256 bytes, from gfx12 on of 512.
u32 read_lds_size(const Wave& wave) {
  const u32 granule = wave.chip->lds_granule;
  const u32 allocated = (wave.lds_bytes + granule - 1) / granule * granule;
  return allocated / (wave.chip->generation == Gfx12 ? 512 : 256) << 12;
}

// SIMD_ID, CU_ID, SH_ID, SE_ID; from gfx10 on SIMD_ID, WGP_ID, SA_ID, SE_ID. All units are in one
// shader engine.
u32 read_place_gfx9(const Wave& wave) {
  return (wave.wave_in_group & 3) << 4 | (wave.compute_unit & 15) << 8;
}
u32 read_place(const Wave& wave) {
  return (wave.wave_in_group & 3) << 8 | (wave.compute_unit & 15) << 10;
}

template <u64 Wave::* kMember>
u32 read_low(const Wave& wave) {
  return static_cast<u32>(wave.*kMember);
}
template <u64 Wave::* kMember>
u32 read_high(const Wave& wave) {
  return static_cast<u32>(wave.*kMember >> 32);
}
u32 read_20_cycles(const Wave& wave) { return read_low<&Wave::clock>(wave) & 0xfffff; }
u32 read_apertures(const Wave& wave) {
  return static_cast<u32>(wave.shared_aperture >> 48 << 16 | wave.private_aperture >> 48);
}

void write_mode(Wave& wave, u32 value) {
  wave.set_mode(value);
  set_host_float_mode(wave);
}
void write_flat_scratch_low(Wave& wave, u32 value) {
  wave.flat_scratch = (wave.flat_scratch & ~u64{0xffffffff}) | value;
}
void write_flat_scratch_high(Wave& wave, u32 value) {
  wave.flat_scratch = (wave.flat_scratch & 0xffffffff) | u64{value} << 32;
}
// The order in which the hardware issues independent instructions.
void write_schedule(Wave&, u32) {}

// clang-format off
constexpr HardwareRegister kRegisters[] = {
    {1, Gfx9, Gfx12, ~0u, &read_mode, &write_mode},
    {2, Gfx9, Gfx11, 1u | kExecz | kVccz, &read_status, nullptr},
    {2, Gfx12, Gfx12, kExecz | kVccz, &read_zeros, nullptr},
    {4, Gfx9, Gfx9, 0xff30, &read_place_gfx9, nullptr},               // HW_ID
    {4, Gfx12, Gfx12, kStatePrivScc, &read_state_priv, nullptr},      // STATE_PRIV
    {6, Gfx9, Gfx12, 0x7ff000, &read_lds_size, nullptr},              // LDS_ALLOC
    {15, Gfx9, Gfx11, ~0u, &read_apertures, nullptr},                 // SH_MEM_BASES
    {20, Gfx9, Gfx9, ~0u, &read_xcc, nullptr},                        // XCC_ID
    {20, Gfx10, Gfx10, ~0u, &read_low<&Wave::flat_scratch>, &write_flat_scratch_low},
    {21, Gfx10, Gfx10, ~0u, &read_high<&Wave::flat_scratch>, &write_flat_scratch_high},
    {20, Gfx11, Gfx12, ~0u, &read_low<&Wave::flat_scratch>, nullptr},
    {21, Gfx11, Gfx12, ~0u, &read_high<&Wave::flat_scratch>, nullptr},
    {23, Gfx10, Gfx12, 0x1fff00, &read_place, nullptr},               // HW_ID1
    {26, Gfx11, Gfx12, 0, nullptr, &write_schedule},                  // SCHED_MODE
    {29, Gfx10, Gfx11, ~0u, &read_20_cycles, nullptr},                // SHADER_CYCLES
    {29, Gfx12, Gfx12, ~0u, &read_low<&Wave::clock>, nullptr},        // SHADER_CYCLES_LO
    {30, Gfx12, Gfx12, ~0u, &read_high<&Wave::clock>, nullptr},
};
// clang-format on

// simm16: register in bits 5 to 0, offset in 10 to 6, width less one in 15 to 11.
struct RegisterField {
  u32 id, offset, width;
  u32 mask() const { return width == 32 ? ~0u : (1u << width) - 1; }
};
RegisterField register_field(const Operation& op) {
  const u32 word = static_cast<u32>(op.immediate);
  return {word & 63, word >> 6 & 31, (word >> 11 & 31) + 1};
}

const HardwareRegister* find(const Wave& wave, u32 id) {
  const Generation own = wave.chip->generation;
  for (const HardwareRegister& candidate : kRegisters) {
    if (candidate.id == id && candidate.first <= own && own <= candidate.last) return &candidate;
  }
  return nullptr;
}

Flow stop_unknown(Wave& wave, const Operation& op, const RegisterField& at) {
  return stop_undocumented(wave, op,
                           fmt::format("of hardware register {}, bits {} to {}", at.id, at.offset,
                                       at.offset + at.width - 1));
}

Flow get_register(Wave& wave, const Operation& op) {
  const RegisterField at = register_field(op);
  const HardwareRegister* found = find(wave, at.id);
  if (found == nullptr || (at.mask() << at.offset & ~found->known) != 0)
    return stop_unknown(wave, op, at);
  wave.s[op.dst] = found->read(wave) >> at.offset & at.mask();
  return Flow::Next;
}

Flow set_register(Wave& wave, const Operation& op, u32 value) {
  const RegisterField at = register_field(op);
  const HardwareRegister* found = find(wave, at.id);
  if (found == nullptr || found->write == nullptr) return stop_unknown(wave, op, at);
  const u32 before = found->read != nullptr ? found->read(wave) : 0, mask = at.mask() << at.offset;
  found->write(wave, (before & ~mask) | (value << at.offset & mask));
  return Flow::Next;
}
Flow set_register_from(Wave& wave, const Operation& op) {
  return set_register(wave, op, read_32(wave, op.src[0]));
}
Flow set_register_constant(Wave& wave, const Operation& op) {
  return set_register(wave, op, static_cast<u32>(op.src[1].value));
}

constexpr Entry kTable[] = {
    {"S_GETREG_B32", {Type::B32, {}, 0}, &get_register},
    {"S_SETREG_B32", {Type::B32, {Type::B32}, 0}, &set_register_from},
    {"S_SETREG_IMM32_B32", {}, &set_register_constant},
};

}  // namespace

HandlerTable hardware_registers_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
