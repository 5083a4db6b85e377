// Wave: the registers of one wave and its view of its work group. It does not execute: handlers
// change it, isa/run.h calls them. See amd/compute for work groups and the creation of waves.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>

#include "base/util/check.h"
#include "base/util/types.h"
#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/exit.h"
#include "emulator/core/number/number.h"

namespace doorbell::emu::amdgpu {

class LdsObserver;
class Memory;

// Indices in Wave::s. They are the codes of scalar operands, except for M0 and NULL, whose codes
// differ between chips: decoding maps them to these.
enum ScalarRegister : u16 {
  kVccLo = 106,
  kVccHi = 107,
  kTtmp0 = 108,
  kM0 = 124,
  kExecLo = 126,
  kExecHi = 127,
  kSink = 128,  // where writes to NULL go; never read
  kScalarRegisters = 160,
};

// In Wave::index_mode, above its four bits: set by s_setvskip.
inline constexpr u32 kSkipVectors = 1 << 4;

// The MODE register's floating-point part. [RDNA3 ISA, "Mode register"]
struct FloatMode {
  u8 round_32 = 0, round_64 = 0;  // 0 nearest even, 1 up, 2 down, 3 towards zero
  u8 denorm_32 = 3,
     denorm_64 = 3;  // bit 0: inputs are kept, bit 1: results are; 64 is 16-bit's too
};

struct Wave {
  Wave(const Chip& chip, u32 lanes) : chip(&chip), lanes(lanes) {
    CHECK(lanes == 32 || lanes == 64, "a wave of {} lanes", lanes);
    const usize words = usize(chip.vgprs + kSpareRows) * lanes;
    vector_storage_ = std::make_unique<u32[]>(words + 16);
    auto address = reinterpret_cast<std::uintptr_t>(vector_storage_.get());
    v = reinterpret_cast<u32*>((address + 63) & ~std::uintptr_t{63});
    vgpr_count = std::min(chip.vgprs, 256u);
    accumulator_count = chip.vgprs - vgpr_count;
    sgpr_count = chip.sgprs;
  }

  // ---- registers ----
  alignas(64) std::array<u32, kScalarRegisters> s{};
  u64 pc = 0;
  u32 scc = 0;  // 0 or 1
  u32* v;       // v[register * lanes + lane]; accumulation register n is register 256 + n
  const Chip* chip;
  u32 lanes;
  FloatMode mode;
  u32 mode_rest = 0;        // MODE's bits from 8 on
  bool float_plain = true;  // the mode is the default, without FP16_OVFL: handlers check this first
  u32 index_mode = 0;       // gfx9's s_set_gpr_idx_on: which operands M0 moves; s_setvskip

  // ---- set at the launch by amd/compute ----
  u32 vgpr_count, sgpr_count;  // as the kernel descriptor allocates
  u32 accumulator_count = 0;
  u8* lds = nullptr;  // the work group's, borrowed from it
  u32 lds_bytes = 0;
  u64 scratch_base = 0;  // of this wave, in device addresses
  u32 scratch_bytes_per_lane = 0;
  u64 shared_aperture = 0, private_aperture = 0;  // as src_shared_base, src_private_base read
  u64 flat_scratch = 0;  // the base that SCRATCH and FLAT use on every chip
  u64 clock = 0;         // instructions executed; what s_memtime and the like read
  u32 wave_in_group = 0;
  u32 compute_unit = 0, xcc = 0;        // where it runs
  Memory* memory = nullptr;             // borrowed from the caller of run()
  void* group = nullptr;                // the work group of amd/compute, for its own use
  LdsObserver* lds_observer = nullptr;  // is told of accesses of LDS; null: nobody is; borrowed

  // Bits 1 << Exit::Limit: at these limits the wave does not stop, but behaves as on hardware.
  u8 unjudged = 0;
  bool is_judged(Exit::Limit limit) const { return !(unjudged >> static_cast<u8>(limit) & 1); }

  Exit exit;  // filled in by the handler that returns Flow::Stop

  // ---- access ----
  u32* row(u32 index) { return v + usize(index) * lanes; }
  u64 pair(u32 index) const { return s[index] | u64(s[index + 1]) << 32; }
  void set_pair(u32 index, u64 value) {
    s[index] = static_cast<u32>(value);
    s[index + 1] = static_cast<u32>(value >> 32);
  }
  // A mask of lanes: one register in waves of 32, two in waves of 64.
  u64 mask(u32 index) const { return lanes == 32 ? s[index] : pair(index); }
  void set_mask(u32 index, u64 value) {
    s[index] = static_cast<u32>(value);
    if (lanes == 64) s[index + 1] = static_cast<u32>(value >> 32);
  }
  u64 exec() const { return mask(kExecLo); }
  u64 vcc() const { return mask(kVccLo); }
  u64 all_lanes() const { return lanes == 32 ? 0xffffffffu : ~u64{0}; }

  // The MODE register, as the kernel descriptor and s_setreg give it.
  void set_mode(u32 bits) {
    mode = {static_cast<u8>(bits & 3), static_cast<u8>(bits >> 2 & 3),
            static_cast<u8>(bits >> 4 & 3), static_cast<u8>(bits >> 6 & 3)};
    mode_rest = bits & ~0xffu;
    float_plain = (bits & 0xff) == 0xf0 && !holds_overflow();
  }
  u32 mode_bits() const {
    return mode_rest | mode.round_32 | mode.round_64 << 2 | mode.denorm_32 << 4 |
           mode.denorm_64 << 6;
  }
  // FP16_OVFL. [CDNA3 ISA, "Mode register"]
  bool holds_overflow() const { return (mode_rest >> 23 & 1) != 0; }
  HalfRounding half_rounding() const { return {mode.round_64, holds_overflow()}; }

  // Rows that no instruction can name, for operations made of several.
  static constexpr u32 kSpareRows = 8;

 private:
  std::unique_ptr<u32[]> vector_storage_;
};

}  // namespace doorbell::emu::amdgpu
