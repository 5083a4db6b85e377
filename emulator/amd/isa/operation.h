// Operation: an instruction as the interpreter executes it. Entry: a handler file's record of an
// instruction that it executes. isa/decode/decode.h makes an Operation from an Entry and the words
// of the code.
#pragma once

#include <array>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

struct Wave;
struct Operation;

enum class Flow : u8 {
  Next,  // the instruction that follows
  Jump,  // to Wave::pc
  Stop,  // the reason is in Wave::exit; Wave::pc is where to continue
};
using Handler = Flow (*)(Wave&, const Operation&);

// How an operand is read: its width, and the meaning of inline constants and modifiers.
enum class Type : u8 {
  None,
  B32,
  F32,  // 32 bits; float modifiers and constants for F, the same constants for B
  M32,  // B32 to which float modifiers apply all the same (v_cndmask)
  B64,
  F64,
  I64,  // two registers; literals: zero-extended, the high half, sign-extended
  B16,
  F16,
  BF16,  // half a register, chosen by op_sel or the register's name
  PackedB16,
  PackedF16,
  PackedBF16,  // both halves, chosen one by one (VOP3P)
  PackedF32,   // two registers of f32 (VOP3P)
  Mixed,       // a float, or a half where op_sel_hi says so (v_fma_mix)
  Wide,        // more than two registers, known to the handler (WMMA, MFMA, memory)
  Mask,        // one bit per lane in scalar registers
  Scalar,      // a 32-bit value that is the same for all lanes, from a scalar register
};
// The number of registers of an operand of this type; for Wide the handler knows it, for Mask the
// wave.
constexpr u32 registers_of(Type type) {
  return type == Type::B64 || type == Type::F64 || type == Type::I64 || type == Type::PackedF32 ? 2
                                                                                                : 1;
}
constexpr bool is_packed(Type type) {
  return type == Type::PackedB16 || type == Type::PackedF16 || type == Type::PackedBF16 ||
         type == Type::PackedF32;
}
constexpr bool is_half(Type type) {
  return type == Type::B16 || type == Type::F16 || type == Type::BF16;
}

// Properties of an instruction that decoding needs beyond its encoding.
struct Shape {
  Type dst = Type::None;
  std::array<Type, 4> src{};
  u32 flags = 0;
  // Registers of Wide operands, and of all operands of memory instructions: dst, then src.
  std::array<u8, 5> wide{};
};
enum ShapeFlag : u32 {
  kEndsBlock = 1 << 0,        // may jump or stop: nothing is decoded behind it
  kReadsDst = 1 << 1,         // the destination is the last source too (v_fmac)
  kCarryOut = 1 << 2,         // VOP3: has an SGPR destination in place of abs and op_sel; else VCC
  kCompare = 1 << 3,          // writes a mask: VCC, or the SGPRs that VOP3's vdst names
  kCompareExec = 1 << 4,      // v_cmpx
  kScalarDst = 1 << 5,        // VOP3 or VOP1 whose vdst is an SGPR (v_readlane, v_s_*)
  kVccIn = 1 << 6,            // the last source is a mask: VCC outside VOP3
  kNoModifiers = 1 << 7,      // VOP3's neg and abs bits mean something else to the handler
  kMemory = 1 << 8,           // decoded by decode_memory
  kLiteralMiddle = 1 << 9,    // VOP2: the literal K is the second source (v_fmamk)
  kLiteralLast = 1 << 10,     // VOP2: it is the third (v_fmaak)
  kHighResult = 1 << 11,      // a 16-bit result goes to the high half (v_fma_mixhi)
  kMatrixOperands = 1 << 12,  // WMMA, MFMA: the table of matrix.cc says how many registers
  kAccumulators = 1 << 16,    // VOP3P: bits of the words choose accumulation registers (MFMA)
  kAccumulatorDst = 1 << 17,  // the destination is one (v_accvgpr_write)
  kAccumulatorSrc = 1 << 18,  // the source is one (v_accvgpr_read)
  // Memory instructions: what determines the address besides or instead of each lane's address.
  kM0Address = 1 << 19,      // M0 is part of the address
  kM0Selects = 1 << 20,      // M0 says which registers
  kNoLaneAddress = 1 << 21,  // lanes have none
  kLowerLanes = 1 << 22,     // only lanes 0 to 31 have one
  kCopiesToLds = 1 << 23,    // what is loaded goes to LDS
};

// The source in LDS of a bit of a load's result: `offset` bytes behind the address of `lane`.
struct LoadedByte {
  u32 lane = 0;
  u64 offset = 0;
};
using FindLoaded = LoadedByte (*)(const Operation& op, u32 word, u32 lane, u32 bit);

// One record of a handler file's table. `handler` is for any x86-64, `fast` for CPUs with AVX2, FMA
// and F16C; null where there is no difference.
struct Entry {
  std::string_view name;  // normal form: isa/decode/normal_name.h
  Shape shape;
  Handler handler = nullptr;
  Handler fast = nullptr;
  // Loads from LDS: of a bit of the result's `word` in `lane`. Null: the words lie one behind the
  // other at the lane's own address and the immediate offset.
  FindLoaded find_loaded = nullptr;
};

struct Source {
  enum class Kind : u8 { None, Vector, Scalar, Constant, Special };
  enum Modifier : u8 {
    kNeg = 1,
    kAbs = 2,
    kHigh = 4,      // B16: the high half; packed: where the low result's operand is (op_sel)
    kHighHigh = 8,  // packed: where the high result's operand is (op_sel_hi)
    kNegHigh = 16,  // packed: neg_hi
    kSext = 32,     // SDWA
    kMoved = 64,    // DPP or SDWA rearranges it: Operation::control says how
  };
  Kind kind = Kind::None;
  u8 modifiers = 0;
  u16 index = 0;  // Vector: register; Scalar: in Wave::s; Special: the operand's code
  u32 row = 0;    // Vector: of its lane 0 in Wave::v, in words
  u64 value = 0;  // Constant: the bits as the operand's type reads them
};

// The first register that no instruction can name: see Wave::kSpareRows.
inline constexpr u16 kSpareRegister = 512;

enum OperationFlag : u32 {
  kClamp = 1 << 0,
  kOmodShift = 1,  // two bits: 1 times 2, 2 times 4, 3 divided by 2
  kOmodMask = 3 << 1,
  kDstHigh = 1 << 3,  // a 16-bit result goes to the high half
  kDpp16 = 1 << 4,
  kDpp8 = 1 << 5,
  kSdwa = 1 << 6,
  kKeepHigh = 1 << 7,       // a 16-bit result leaves the other half as it is; else that is zeroed
  kDirect = 1 << 8,         // the result is written as computed: none of the above
  kVop3 = 1 << 9,           // VOP3 encoding
  kFetchInvalid = 1 << 10,  // DPP: fi
};

struct Operation {
  Handler handler = nullptr;
  const Entry* entry = nullptr;
  std::array<Source, 4> src{};
  u32 flags = 0;
  u32 control = 0;             // DPP's or SDWA's second word
  u32 dst_row = 0;             // of the vector destination, in words
  u16 dst = 0;                 // Vector: register; scalar: index in Wave::s
  u16 sdst = 0;                // the second, scalar destination (carries), index in Wave::s
  i64 immediate = 0;           // SOPK, SOPP: sign-extended; memory: the offset; literals K
  std::array<u32, 4> words{};  // the instruction itself, for fields that only its handler decodes
  u16 size = 0;                // bytes
  u16 offset = 0;              // from the block's start
  u64 pc = 0;
  std::string_view name;  // from LLVM; empty for words that are not an instruction
};

}  // namespace doorbell::emu::amdgpu
