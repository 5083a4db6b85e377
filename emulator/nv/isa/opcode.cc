// The table of instructions. Handlers are in the files that the comments name.
#include "emulator/nv/isa/opcode.h"

#include <array>

#include "emulator/nv/isa/handlers.h"

namespace doorbell::emu::nvgpu {

namespace {

// Sources of the numbers and operands: sm70_encode.rs of Mesa's NAK; where it lacks one, nvdisasm's
// text of code that NVRTC compiled.
// clang-format off
constexpr Opcode kOpcodes[] = {
  // moves and selections: select.cc
  {0x002, "MOV",       "d x", kHex, move},
  {0x003, "P2R",       "d A a x",            0, predicates_to_register},
  {0x004, "R2P",       "A a x",              0, register_to_predicates},
  {0x005, "CS2R",      "d r",                0, clock_to_register},
  {0x006, "VOTE",      "d? p P",             0, vote},
  {0x007, "SEL",       "d a x P", kHex, select},
  {0x008, "FSEL",      "d af xf P",          kFloat, select_float},
  {0x016, "PRMT",      "d a b c", kHex, permute},
  {0x01c, "PLOP3",     "p q P Q S M N",      0, predicate_logic},
  {0x119, "S2R",       "d r",                kVariable, special_to_register},
  // integers: integer.cc
  {0x00c, "ISETP",     "p q a x P S?",     0, compare_integers},
  {0x00f, "VIMNMX3",   "d a b c P", kHex, minimum_of_three},
  {0x010, "IADD3",     "d p? q? an bn cn Px Qx", 0, add3},
  {0x011, "LEA",       "d p? an xn e? h Px", kHex, scaled_add},
  {0x012, "LOP3",      "p? d a b c L P", kHex, logic3},
  {0x013, "IABS",      "d xn",               0, absolute},
  {0x014, "VABSDIFF",  "d a b c",            0, absolute_difference},
  {0x017, "IMNMX",     "d a x P",          0, minimum_integer},
  {0x019, "SHF",       "d a b c",            0, funnel_shift},
  {0x01a, "SGXT",      "d a x",              0, sign_extend},
  {0x01b, "BMSK",      "d a x",              0, bit_mask},
  {0x024, "IMAD",      "d a b cn Px",        0, multiply_add},
  {0x025, "IMAD.WIDE", "d2 p? a b c2n Px",   0, multiply_add_wide},
  {0x026, "IDP",       "d a b c",            0, dot_product},
  {0x027, "IMAD.HI",   "d p? a b c2n Px",    0, multiply_add_high},
  {0x036, "VIADD",     "d an xn", kHex, add2},
  {0x046, "VIADDMNMX", "d a bn c P", kHex, add_minimum},
  {0x048, "VIMNMX",    "d p? q? a x P",    0, minimum_vector},
  {0x100, "FLO",       "d p? xn",            kVariable, find_leading_one},
  {0x101, "BREV",      "d x",                kVariable, reverse_bits},
  {0x109, "POPC",      "d xn",               kVariable, count_ones},
  // 32-bit floats: float.cc
  {0x009, "FMNMX",     "d af xf P",          kFloat, minimum_float},
  {0x00a, "FSET",      "d af xf P",          kFloat, set_float},
  {0x00b, "FSETP",     "p q af xf P",        kFloat, compare_floats},
  {0x020, "FMUL",      "d af xf",            kFloat, multiply_float},
  {0x021, "FADD",      "d af xf",            kFloat, add_float},
  {0x023, "FFMA",      "d af bf cf",         kFloat, fused_float},
  {0x102, "FCHK",      "p af xf",            kFloat | kVariable, check_division},
  {0x108, "MUFU",      "d xf",               kFloat | kVariable, approximate},
  // 64-bit floats: double.cc
  {0x028, "DMUL",      "d2 a2f x2f",         kDouble | kVariable, multiply_double},
  {0x029, "DADD",      "d2 a2f c2f",         kDouble | kVariable, add_double},
  {0x02a, "DSETP",     "p q a2f x2f P",      kDouble | kVariable, compare_doubles},
  {0x02b, "DFMA",      "d2 a2f b2f c2f",     kDouble | kVariable, fused_double},
  // halves: half.cc
  {0x030, "HADD2",     "d ah xh",            kPairs, add_halves},
  {0x031, "HFMA2",     "d ah bh ch",         kPairs, fused_halves},
  {0x032, "HMUL2",     "d ah xh",            kPairs, multiply_halves},
  {0x033, "HSET2",     "d ah xh P",          kPairs, set_halves},
  {0x034, "HSETP2",    "p q ah xh P",        kPairs, compare_halves},
  {0x035, "HFMA2.MMA", "d ah bh ch",         kPairs, fused_halves},
  {0x040, "HMNMX2",    "d ah xh P",          kPairs, minimum_halves},
  // conversions: convert.cc
  {0x03e, "F2FP",      "d af xf c",          kFloat, pack_floats},
  {0x045, "I2FP",      "d x",                0, integer_to_float},
  {0x104, "F2F",       "d xf",               kFloat | kVariable, float_to_float},
  {0x105, "F2I",       "d xf",               kFloat | kVariable, float_to_integer},
  {0x106, "I2F",       "d x",                kVariable, integer_to_float},
  {0x107, "FRND",      "d xf",               kFloat | kVariable, round_float},
  {0x110, "F2F",       "d2 x2f",             kDouble | kVariable, float_to_float},
  {0x111, "F2I",       "d2 x2f",             kDouble | kVariable, float_to_integer},
  {0x112, "I2F",       "d2 x2",              kVariable, integer_to_float},
  {0x113, "FRND",      "d2 x2f",             kDouble | kVariable, round_float},
  // uniform: as those without U
  {0x082, "UMOV",      "d x",                kUniform | kHex, move},
  {0x086, "VOTEU",     "d? p P",             kUniform, vote},
  {0x087, "USEL",      "d a x P",            kUniform | kHex, select},
  {0x08c, "UISETP",    "p q a x P S?",     kUniform, compare_integers},
  {0x090, "UIADD3",    "d p? q? an bn cn Px Qx", kUniform, add3},
  {0x091, "ULEA",      "d p? an xn e? h Px",  kUniform | kHex, scaled_add},
  {0x092, "ULOP3",     "p? d a b c L P",     kUniform | kHex, logic3},
  {0x096, "UPRMT",     "d a b c",            kUniform | kHex, permute},
  {0x097, "UIADD3.64", "d2 p? q? a2n b2n c2n Px Qx", kUniform, add3_64},
  {0x099, "USHF",      "d a b c",            kUniform, funnel_shift},
  {0x09a, "USGXT",     "d a x",              kUniform, sign_extend},
  {0x09b, "UBMSK",     "d a x",              kUniform, bit_mask},
  {0x09c, "UPLOP3",    "p q P Q S M N",      kUniform, predicate_logic},
  {0x0a4, "UIMAD",     "d a b cn Px",        kUniform, multiply_add},
  {0x0a5, "UIMAD.WIDE", "d2 p? a b c2n Px",  kUniform, multiply_add_wide},
  {0x0b9, "ULDC",      "dm k",               kUniform, load_constant},
  {0x0bd, "UFLO",      "d p? xn",            kUniform, find_leading_one},
  {0x0be, "UBREV",     "d x",                kUniform, reverse_bits},
  {0x0bf, "UPOPC",     "d xn",               kUniform, count_ones},
  {0x0ca, "R2UR",      "p? d a",               kVariable, register_to_uniform},
  {0x1c2, "R2UR",      "p? d a",               kVariable, register_to_uniform},
  {0x1c3, "S2UR",      "d r",                kVariable, special_to_register},
  {0x1c4, "REDUX",     "d a",                kVariable, reduce_lanes},
  // memory: memory.cc, atomics.cc
  {0x180, "LD",        "dm g",               kVariable, load_generic},
  {0x181, "LDG",       "dm g",               kVariable, load_global},
  {0x182, "LDC",       "dm k",               kVariable, load_constant},
  {0x183, "LDL",       "dm l",               kVariable, load_local},
  {0x184, "LDS",       "dm s",               kVariable, load_shared},
  {0x185, "ST",        "g vm",               kVariable, store_generic},
  {0x186, "STG",       "g vm",               kVariable, store_global},
  {0x187, "STL",       "l vm",               kVariable, store_local},
  {0x188, "STS",       "s vm",               kVariable, store_shared},
  {0x18a, "ATOM",      "p dm g vm",          kVariable, atomic_generic},
  {0x18c, "ATOMS",     "dm s vm",            kVariable, atomic_shared},
  {0x18d, "ATOMS.CAS", "dm s vm wm",         kVariable, compare_exchange_shared},
  {0x18e, "RED",       "g vm",               kVariable, reduce_global},
  {0x1a3, "ATOMG",     "p dm g vm",          kVariable, atomic_global},
  {0x1a6, "REDG",      "g vm",               kVariable, reduce_global},
  {0x1a8, "ATOMG",     "p dm g vm",          kVariable, atomic_global},
  {0x1a9, "ATOMG",     "p dm g vm wm",       kVariable, compare_exchange_global},
  {0x18f, "CCTL",      "",                   kVariable, drop_cached},
  {0x192, "MEMBAR",    "",                   kVariable, no_operation},
  {0x1ab, "ERRBAR",    "",                   kVariable, no_operation},
  {0x1ae, "LDGSTS",    "G H P?",             kVariable, copy_to_shared},
  {0x1af, "LDGDEPBAR", "",                   kVariable, commit_copies},
  {0x11a, "DEPBAR",    "D E",                0, wait_for_scoreboard},
  // barriers in memory: mbarrier.cc
  {0x1a7, "SYNCS",     "I Y v",              kVariable, synchronize},
  {0x1b0, "ARRIVES",   "Y",                  kVariable, arrive_after_copies},
  {0x1b1, "SYNCS.CCTL", "Y",                 kVariable, invalidate_mbarrier},
  {0x1b2, "SYNCS.EXCH", "d2 Y U",            kUniform | kVariable, exchange_mbarrier},
  {0x1c6, "FENCE.VIEW.ASYNC", "",            kVariable, no_operation},
  // copies of blocks and boxes: bulk_copy.cc, tensor_copy.cc
  {0x1b4, "UTMALDG",   "V R",                kUniform | kVariable, copy_box},
  {0x1b5, "UTMASTG",   "V R",                kUniform | kVariable, copy_box},
  {0x1ba, "UBLKCP",    "V R Z",              kUniform | kVariable, copy_block},
  {0x1b7, "UTMACMDFLUSH", "",                kVariable, no_operation},
  // between lanes: exchange.cc
  {0x02f, "ELECT",     "p d P",              0, elect_lane},
  {0x189, "SHFL",      "p d a y z",              kVariable, shuffle},
  {0x1a1, "MATCH",     "u d a",              kVariable, match_lanes},
  // control: control.cc
  {0x118, "NOP",       "",                   0, no_operation},
  {0x11b, "ENDCOLLECTIVE", "",               0, end_collective},
  {0x11c, "B2R",       "d? p?",              kVariable, barrier_to_register},
  {0x11d, "BAR",       "n j",                    kVariable, block_barrier},
  {0x141, "BSYNC",     "B",                  0, convergence_wait},
  {0x142, "BREAK",     "B",                  0, convergence_break},
  {0x143, "CALL.ABS",  "t",                  0, call_absolute},
  {0x144, "CALL.REL",  "t",                  0, call_relative},
  {0x145, "BSSY",      "B t",                0, convergence_set},
  {0x146, "YIELD",     "",                   0, yield_lanes},
  {0x147, "BRA",       "P? t",               0, branch},
  {0x148, "WARPSYNC",  "W T",                0, warp_sync},
  {0x149, "BRX",       "",                   0, branch_indexed},
  {0x14d, "EXIT",      "P?",                 0, exit_lanes},
  {0x150, "RET",       "a t",                  0, return_lanes},
  {0x152, "RPCMOV.32", "F v",                0, move_return_address},
  {0x153, "RPCMOV.32", "d F",                0, move_return_address},
  {0x155, "BMOV.32",   "d C",                   kVariable, convergence_to_register},
  {0x156, "BMOV.32",   "C v",                   kVariable, register_to_convergence},
  {0x15c, "BPT",       "",                   0, trap},
  {0x15d, "NANOSLEEP", "",                   0, yield_lanes},
  // matrices: matrix.cc, matrix_memory.cc
  {0x037, "IMMA",      "d a x e",            0, multiply_matrices},
  {0x03a, "MOVM",      "d a",                kVariable, transpose_matrix},
  {0x03b, "LDSM",      "d s",                kVariable, load_matrix},
  {0x03c, "HMMA",      "d a x e",            0, multiply_matrices},
  {0x044, "STSM",      "s v",                kVariable, store_matrix},
  {0x07a, "QMMA",      "d a x e",            0, multiply_matrices},
  // of four warps: warpgroup.cc
  {0x1c5, "WARPGROUP", "X",                  kVariable, no_operation},
  {0x1f0, "HGMMA",     "d K J e O",          kVariable, multiply_warpgroup},
  {0x1f1, "IGMMA",     "d K J e O",          kVariable, multiply_warpgroup},
  {0x1f3, "QGMMA",     "d K J e O",          kVariable, multiply_warpgroup},
};
// clang-format on

std::vector<OperandSpec> parse_operands(std::string_view text) {
  std::vector<OperandSpec> specs;
  for (usize at = 0; at < text.size();) {
    OperandSpec spec{.role = text[at++]};
    for (; at < text.size() && text[at] != ' '; ++at) {
      const char c = text[at];
      if (c == '2' || c == '4')
        spec.registers = static_cast<u8>(c - '0');
      else if (c == 'm')
        spec.registers = 0;
      else if (c == '?')
        spec.optional = true;
      else
        spec.modifier = c;
    }
    ++at;
    specs.push_back(spec);
  }
  return specs;
}

struct Index {
  std::array<const Opcode*, 512> by_number{};
  std::array<std::vector<OperandSpec>, 512> operands;
};
const Index& index_of_opcodes() {
  static const Index* const kIndex = [] {
    auto* index = new Index;
    for (const Opcode& opcode : kOpcodes) {
      index->by_number.at(opcode.number) = &opcode;
      index->operands.at(opcode.number) = parse_operands(opcode.operands);
    }
    return index;
  }();
  return *kIndex;
}

}  // namespace

const Opcode* find_opcode(u32 number) { return index_of_opcodes().by_number.at(number); }

std::span<const Opcode> all_opcodes() { return kOpcodes; }

const std::vector<OperandSpec>& operands_of(const Opcode& opcode) {
  return index_of_opcodes().operands.at(opcode.number);
}

}  // namespace doorbell::emu::nvgpu
