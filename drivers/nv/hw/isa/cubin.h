// Numbers in cubins, the ELF files of NVIDIA's compilers. NVIDIA does not document them; names and
// meanings are those that `cuobjdump -elf` prints.
#pragma once

#include "base/util/types.h"

namespace doorbell::nv::hw {

inline constexpr u16 kElfMachineCuda = 190;  // EM_CUDA [elf.h]
// e_flags 15:8 of cubins with ABI version 8, 7:0 of older ones: 86 of sm_86.
constexpr u32 chip_of_elf_flags(u32 flags, u8 abi_version) {
  return abi_version >= 8 ? flags >> 8 & 0xff : flags & 0xff;
}

// Attributes of the sections .nv.info (of functions, by symbol) and .nv.info.KERNEL: a byte of
// format, a byte of number, then two bytes of value or, in format Sized, of the value's size.
enum class CubinFormat : u8 { None = 1, Byte = 2, Half = 3, Sized = 4 };  // EIFMT_*VAL
enum class CubinAttribute : u8 {
  MaxThreads = 0x05,      // of a block: three numbers
  ParamCbank = 0x0a,      // symbol; offset in constant bank 0 and bytes of the parameters
  ReqNTid = 0x10,         // required dimensions of a block
  FrameSize = 0x11,       // symbol, bytes
  MinStackSize = 0x12,    // symbol, bytes: of local memory, calls included
  KParamInfo = 0x17,      // index, ordinal and offset, size
  CbankParamSize = 0x19,  // bytes of the parameters
  RegCount = 0x2f,        // symbol, registers
  NumBarriers = 0x4c,
};

// Relocations. A name says which bits of the address go where in an instruction: ABS47_34, the
// lowest 47 bits from bit 34 on. Jump targets count words of four bytes.
enum class CubinRelocation : u32 {
  R32 = 0x01,
  R64 = 0x02,
  G32 = 0x03,  // "generic": the same for global memory
  G64 = 0x04,
  Abs32_32 = 0x37,
  Abs32Lo_32 = 0x38,
  Abs32Hi_32 = 0x39,
  Abs47_34 = 0x3a,
  R32Lo = 0x46,
  R32Hi = 0x47,
  Abs55_16_34 = 0x4b,
  R8_0 = 0x4c,  // byte 0 of the address; the numbers behind it the bytes above
  R8_56 = 0x53,
  G8_0 = 0x54,
  G8_56 = 0x5b,
  Abs56_16_34 = 0x72,
};

// Constant bank 0 as code expects it: what the driver fills in, then the parameters, whose offset
// the cubin says. Offsets are bytes. [NVRTC 13.0's code for kernels that use each; tinygrad 0.14.0
// ops_nv.py NVProgram; Blackwell's: libcuda's bank, in lfrati/paraketto 3a6a0ff docs/nocuda.md 7]
struct ConstantBank0 {
  u32 block_dim, grid_dim;          // three u32 each
  u32 shared_window, local_window;  // u64: where they begin in the generic address space
  u32 stack_pointer;                // u32: of local memory, first value
  u32 parameters;                   // and so the bytes before them
};
inline constexpr ConstantBank0 kBank0OfAmpere = {0x00, 0x0c, 0x18, 0x20, 0x28, 0x160};
inline constexpr ConstantBank0 kBank0OfHopper = {0x00, 0x0c, 0x18, 0x20, 0x28, 0x210};
inline constexpr ConstantBank0 kBank0OfBlackwell = {0x360, 0x370, 0x2f0, 0x2f8, 0x37c, 0x380};
constexpr const ConstantBank0& bank0_of_chip(u32 chip) {
  return chip >= 100 ? kBank0OfBlackwell : chip >= 90 ? kBank0OfHopper : kBank0OfAmpere;
}
// Stacks grow down from near the end of a thread's window of 16 MiB; the system keeps the rest.
inline constexpr u32 kStackTop = 0xfffdc0, kStackReserved = 0x240;
// Of each block's shared memory; cubins from sm_90 on count it.
inline constexpr u32 kSharedReserved = 0x400;

}  // namespace doorbell::nv::hw
