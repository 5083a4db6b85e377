// What LLVM makes of kernels for AMD's chips: relocatable objects as the driver expects them, read
// here by base/elf and by the layout of the kernel descriptor, and instructions by disassembly.
// That the code computes the right thing is the conformance suite's to show, on the emulator.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/elf/elf_file.h"
#include "codegen/compile/llvm_build.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/lower/lower.h"
#include "codegen/render/amd_caps.h"
#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "tests/codegen/render/cpu_kernel.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;
namespace dt = core::dtypes;

using amd::hw::KernelDescriptor;

struct Code {
  LinearProgram program;
  std::vector<u8> image;
  std::string text;
  KernelDescriptor descriptor;
  u16 machine = 0;
  u8 os_abi = 0, abi_version = 0;
  u32 flags = 0;
  std::vector<elf::Relocation> relocations;  // of .rodata
};

bool contains(const Code& code, std::string_view text) {
  return code.text.find(text) != std::string::npos;
}

UOp special(ProgramBuilder& b, core::SpecialKind kind, i64 axis, i64 extent) {
  return b.op(Op::Special, dt::i32, {}, {static_cast<i64>(kind), axis, extent});
}

LlvmTarget target_of(std::string_view chip) { return {LlvmTarget::Family::Amd, std::string(chip)}; }

Code compile_program(LinearProgram program, std::string_view chip) {
  Code code;
  code.program = std::move(program);
  const std::unique_ptr<Compiler> compiler = make_llvm_compiler(target_of(chip));
  Result<std::vector<u8>> image = compiler->compile(code.program, "");
  EXPECT_TRUE(image) << chip << ": " << to_string(image.error());
  if (!image) return code;
  code.image = std::move(*image);
  auto file = elf::ElfFile::parse(code.image);
  EXPECT_TRUE(file);
  code.machine = file->machine();
  code.os_abi = file->os_abi();
  code.abi_version = code.image[EI_ABIVERSION];
  code.flags = file->flags();
  const elf::Section* data = file->find_section(".rodata");
  const elf::Section* table = file->find_section(".symtab");
  const elf::Section* patches = file->find_section(".rela.rodata");
  EXPECT_TRUE(data && table && patches);
  const std::string name = code.program.name + ".kd";
  const std::vector<elf::Symbol> symbols = *file->symbols(*table);
  for (const elf::Symbol& symbol : symbols) {
    if (symbol.name != name) continue;
    EXPECT_EQ(symbol.size, 64u);
    std::array<u32, KernelDescriptor::kWords> words{};
    std::memcpy(words.data(), data->data.data() + symbol.value, sizeof words);
    code.descriptor = decode<KernelDescriptor>(words);
  }
  code.relocations = *file->relocations(*patches);
  code.text = *compiler->disassemble(code.image);
  return code;
}

Code compile_kernel_for(const core::KernelAst& kernel, std::string_view chip) {
  core::Arena arena;
  LinearProgram program = lower(kernel, amd_caps(*amd::hw::find_chip(chip)), arena);
  return compile_program(std::move(program), chip);
}

struct ChipFacts {
  const char* name;
  u32 elf_machine;  // EF_AMDGPU_MACH [LLVM AMDGPUUsage, "ELF Header"]
  bool wave32;
};
constexpr ChipFacts kChips[] = {
    {"gfx1030", 0x36, true}, {"gfx1100", 0x41, true}, {"gfx1101", 0x46, true},
    {"gfx1102", 0x47, true}, {"gfx1103", 0x44, true}, {"gfx1150", 0x43, true},
    {"gfx1151", 0x4a, true}, {"gfx1200", 0x48, true}, {"gfx1201", 0x4e, true},
    {"gfx942", 0x4c, false}, {"gfx950", 0x4f, false},
};

TEST(AmdCode, KnowsTheChips) {
  ASSERT_EQ(amd::hw::chips().size(), std::size(kChips));
  for (const ChipFacts& facts : kChips) {
    const amd::hw::Chip* chip = amd::hw::find_chip(facts.name);
    ASSERT_NE(chip, nullptr) << facts.name;
    EXPECT_EQ(chip->wave_size, facts.wave32 ? 32 : 64) << facts.name;
    EXPECT_EQ(chip->elf_machine, facts.elf_machine) << facts.name;
  }
  EXPECT_EQ(amd::hw::find_chip("gfx90c"), nullptr);
}

TEST(AmdCode, ObjectsAreWhatTheDriverExpects) {
  for (const ChipFacts& chip : kChips) {
    SCOPED_TRACE(chip.name);
    const Code c = compile_kernel_for(add_kernel(4096), chip.name);
    EXPECT_EQ(c.os_abi, 64);      // ELFOSABI_AMDGPU_HSA
    EXPECT_EQ(c.abi_version, 3);  // code object V5
    EXPECT_EQ(c.machine, 224);    // EM_AMDGPU
    EXPECT_EQ(c.flags & 0xff, chip.elf_machine);
    ASSERT_EQ(c.relocations.size(), 1u);
    EXPECT_EQ(c.relocations[0].type, 5u);  // R_AMDGPU_REL64
    EXPECT_EQ(c.relocations[0].offset, 16u);
    // Three addresses and nothing hidden behind them.
    EXPECT_EQ(c.descriptor.kernarg_size, 24u);
    EXPECT_EQ(c.descriptor.group_segment_fixed_size, 0u);
    EXPECT_EQ(c.descriptor.private_segment_fixed_size, 0u);
    EXPECT_TRUE(c.descriptor.enable_sgpr_kernarg_segment_ptr);
    EXPECT_FALSE(c.descriptor.enable_sgpr_dispatch_ptr || c.descriptor.enable_sgpr_queue_ptr ||
                 c.descriptor.enable_sgpr_dispatch_id ||
                 c.descriptor.enable_sgpr_flat_scratch_init ||
                 c.descriptor.enable_sgpr_private_segment_size);
    EXPECT_EQ(c.descriptor.enable_wavefront_size32, chip.wave32);
    EXPECT_EQ(c.descriptor.kernarg_preload_length, 0);
  }
}

TEST(AmdCode, VariablesAreArgumentsOfEightBytes) {
  ProgramBuilder b("iota");
  const i64 name = core::intern_name("n");
  b.program.variables = {name};
  UOp out = b.param(dt::i32, 64, true);
  UOp n = b.op(Op::Variable, dt::i32, {}, {name, 1, 10});
  UOp item = special(b, core::SpecialKind::LocalId, 0, 64);
  b.program.group_items[0] = 64;
  b.store(b.index(out, item), b.op(Op::Add, dt::i32, {item, n}));
  const Code c = compile_program(b.program, "gfx1100");
  EXPECT_EQ(c.descriptor.kernarg_size, 16u);
  EXPECT_TRUE(contains(c, "s_load_b128")) << c.text;
  EXPECT_TRUE(contains(c, "v_add_nc_u32_e32")) << c.text;
}

// out[i] = the sum over the columns of row i, from the first or from the last.
core::KernelAst row_sums(i64 rows, i64 columns, bool backwards) {
  KernelBuilder k;
  UOp out = k.param(0, rows), x = k.param(1, rows * columns);
  UOp i = k.loop(rows), d = k.reduced(columns);
  UOp column = backwards ? k.add(k.mul(d, -1), columns - 1) : d;
  UOp value = k.load(x, k.add(k.mul(i, columns), column));
  return k.store(out, i, k.reduce(Op::Add, value, {d}), {i});
}

// What all items add in an iteration is an unsigned operand of a buffer load: loops that go
// backwards do without.
TEST(AmdCode, LoadsInStepAreBufferLoads) {
  if (std::atoi(kLlvmVersion) < 22) GTEST_SKIP() << "LLVM 22 and later";
  const Plan plan{{OptOp::Local, 0, 64}};
  for (const bool backwards : {false, true}) {
    core::Arena arena;
    const Code c =
        compile_program(lower(row_sums(64, 4096, backwards),
                              amd_caps(*amd::hw::find_chip("gfx1100")), arena, {.plan = &plan}),
                        "gfx1100");
    EXPECT_EQ(contains(c, "buffer_load_b32"), !backwards) << c.text;
    EXPECT_EQ(contains(c, "global_load_b32"), backwards) << c.text;
  }
}

// out[i] = the sum of row i - 1, or of nothing. The gate varies with the item, or with the loop
// too; behind it is the alternative.
core::KernelAst gated_row_sums(bool in_loop, f32 alternative) {
  constexpr i64 kRows = 64, kColumns = 4096;
  KernelBuilder k;
  UOp out = k.param(0, kRows), x = k.param(1, kRows * kColumns);
  UOp i = k.loop(kRows), d = k.reduced(kColumns);
  UOp at = k.add(k.add(k.mul(i, kColumns), d), -kColumns);
  UOp gate = in_loop ? k.ge(k.add(i, d), 1) : k.ge(i, 1);
  UOp place = k.arena().make(core::Op::Index, core::dtypes::f32, {x, at, gate});
  UOp otherwise = k.arena().const_float(core::dtypes::f32, alternative);
  UOp value = k.arena().make(core::Op::Load, core::dtypes::f32, {place, otherwise});
  return k.store(out, i, k.reduce(core::Op::Add, value, {d}), {i});
}

// Behind a buffer's end are zeros.
TEST(AmdCode, GatesOfLoadsInStepAreAddresses) {
  if (std::atoi(kLlvmVersion) < 22) GTEST_SKIP() << "LLVM 22 and later";
  const Plan plan{{OptOp::Local, 0, 64}};
  for (const bool in_loop : {false, true}) {
    for (const f32 alternative : {0.0f, -0.0f, 1.0f}) {
      SCOPED_TRACE(fmt::format("in the loop: {}, otherwise {}", in_loop, alternative));
      core::Arena arena;
      const Code c =
          compile_program(lower(gated_row_sums(in_loop, alternative),
                                amd_caps(*amd::hw::find_chip("gfx1100")), arena, {.plan = &plan}),
                          "gfx1100");
      const bool by_buffer = !in_loop && alternative == 0 && !std::signbit(alternative);
      EXPECT_EQ(contains(c, "buffer_load_b32"), by_buffer) << c.text;
      EXPECT_EQ(contains(c, "global_load_b32"), !by_buffer) << c.text;
    }
  }
}

// Items of a group in x and y, groups in x and y: what the kernel asks the hardware for.
TEST(AmdCode, GroupsShareMemoryAndMeet) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942", "gfx950"}) {
    SCOPED_TRACE(chip);
    const Code c = compile_kernel_for(matmul_kernel(256, 256, 256), chip);
    const i64(&items)[3] = c.program.group_items;
    EXPECT_GT(items[0] * items[1] * items[2], 64);
    // TGID_X_EN, TGID_Y_EN, TGID_Z_EN of COMPUTE_PGM_RSRC2
    EXPECT_EQ(c.descriptor.rsrc2 >> 7 & 7, 3u);
    EXPECT_GT(c.descriptor.group_segment_fixed_size, 4096u);
    EXPECT_EQ(c.descriptor.kernarg_size, 32u);
    const bool split = std::string_view(chip) == "gfx1201";
    EXPECT_TRUE(contains(c, split ? "s_barrier_signal" : "s_barrier")) << c.text;
    const bool old = std::string_view(chip) == "gfx1030" || std::string_view(chip).size() == 6;
    EXPECT_TRUE(contains(c, old ? "ds_read_b128" : "ds_load_b128")) << c.text;
    EXPECT_TRUE(contains(c, old ? "global_load_dwordx4" : "global_load_b128")) << c.text;
    // Only local memory is waited for at a barrier: loads may stay on their way.
    EXPECT_FALSE(contains(c, "gl0_inv")) << c.text;
  }
}

// Addresses are a scalar base and an offset of 32 bits.
TEST(AmdCode, AddressesNeedNo64BitArithmetic) {
  const Code c = compile_kernel_for(add_kernel(1 << 20), "gfx1100");
  EXPECT_TRUE(contains(c, "global_load_b128 v[")) << c.text;
  EXPECT_TRUE(contains(c, ", s[")) << c.text;
  EXPECT_FALSE(contains(c, "v_add_co")) << c.text;
}

TEST(AmdCode, HalfIsComputedInPairs) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942"}) {
    ProgramBuilder b("halves");
    UOp out = b.param(dt::f16, 64, true), in = b.param(dt::f16, 64);
    UOp x = b.load(b.index(in, b.number(0, dt::i32)), 4);
    b.store(b.index(out, b.number(0, dt::i32)), b.op(Op::Add, x.dtype(), {x, x}));
    const Code c = compile_program(b.program, chip);
    EXPECT_TRUE(contains(c, "v_pk_add_f16")) << chip << c.text;
  }
}

// A divisor that lies in scalar registers, as the sum of a row that all items share.
TEST(AmdCode, VectorsAreDividedByWhatAllItemsShare) {
  for (const ChipFacts& chip : kChips) {
    for (const DType t : {dt::f32, dt::f16}) {
      ProgramBuilder b("shares");
      UOp out = b.param(t, 256, true), divisor = b.param(t, 1);
      UOp item = special(b, core::SpecialKind::LocalId, 0, 64);
      b.program.group_items[0] = 64;
      UOp at = b.index(out, b.op(Op::Mul, dt::i32, {item, b.number(4, dt::i32)}));
      UOp x = b.load(at, 4);
      UOp y = b.op(Op::Splat, x.dtype(), {b.load(b.index(divisor, b.number(0, dt::i32)))});
      b.store(at, b.op(Op::FDiv, x.dtype(), {x, y}));
      const Code c = compile_program(b.program, chip.name);
      const bool half = t == dt::f16;
      EXPECT_TRUE(contains(c, half ? "v_rcp_f" : "v_div_fixup_f32")) << chip.name << c.text;
    }
  }
}

constexpr Op kOfAll[] = {Op::Neg,   Op::Add,   Op::Sub,   Op::Mul,   Op::Max,
                         Op::CmpLt, Op::CmpEq, Op::CmpNe, Op::Where, Op::MulAcc};
constexpr Op kOfFloats[] = {Op::Sqrt, Op::Recip, Op::Trunc, Op::FDiv};
constexpr Op kOfBits[] = {Op::And, Op::Or, Op::Xor};
constexpr Op kOfInts[] = {Op::CDiv, Op::CMod, Op::Shl, Op::Shr};

std::vector<Op> ops_of(DType t) {
  std::vector<Op> ops(std::begin(kOfAll), std::end(kOfAll));
  auto add = [&](std::span<const Op> more) { ops.insert(ops.end(), more.begin(), more.end()); };
  if (t.is_float()) add(kOfFloats);
  if (!t.is_float()) add(kOfBits);
  if (t.is_int()) add(kOfInts);
  return ops;
}

// Every op on loaded values of the dtype, and a cast to every other dtype; all stored.
void add_ops(ProgramBuilder& b, const Caps& caps, DType t) {
  UOp item = special(b, core::SpecialKind::LocalId, 0, 32);
  UOp at = b.op(Op::Mul, dt::i32, {item, b.number(t.lanes, dt::i32)});
  UOp in = b.param(t.element(), 1024);
  auto read = [&](i64 from) {
    UOp place = b.op(Op::Add, dt::i32, {at, b.number(from, dt::i32)});
    return b.load(b.index(in, place), t.lanes);
  };
  UOp x = read(0), y = read(128), z = read(256);
  UOp less = b.op(Op::CmpLt, dt::bool_.with_lanes(t.lanes), {x, y});
  auto write = [&](UOp value) {
    b.store(b.index(b.param(value.dtype().element(), 1024, true), at), value);
  };
  if (caps.has(t)) {
    for (Op op : ops_of(t)) {
      const DType made = core::is_comparison(op) ? dt::bool_.with_lanes(t.lanes) : t;
      if (op == Op::Where)
        write(b.op(op, made, {less, x, y}));
      else if (op == Op::MulAcc)
        write(b.op(op, made, {x, y, z}));
      else if (core::group_of(op) == core::OpGroup::Unary)
        write(b.op(op, made, {x}));
      else
        write(b.op(op, made, {x, y}));
    }
  }
  for (usize i = static_cast<usize>(Scalar::Bool); i <= static_cast<usize>(Scalar::F64); ++i)
    write(b.op(Op::Cast, DType{static_cast<Scalar>(i), t.lanes}, {x}));
}

// Nothing that a kernel may hold makes LLVM give up.
TEST(AmdCode, EveryOpOfEveryDtypeCompiles) {
  // One chip of each generation; the others differ in what no op shows.
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942", "gfx950"}) {
    const Caps caps = amd_caps(*amd::hw::find_chip(chip));
    for (usize i = static_cast<usize>(Scalar::Bool); i <= static_cast<usize>(Scalar::F64); ++i) {
      const u16 lanes = i % 2 ? 1 : 4;
      ProgramBuilder b("ops");
      b.program.group_items[0] = 32;
      add_ops(b, caps, DType{static_cast<Scalar>(i), lanes});
      SCOPED_TRACE(std::string(chip) + " " + std::to_string(i));
      const Code c = compile_program(b.program, chip);
      EXPECT_TRUE(contains(c, "s_endpgm"));
    }
  }
}

TEST(AmdCode, ContractionsOfNarrowNumbersUseTensorCores) {
  struct Case {
    const char *chip, *instruction;
    DType t;
  };
  for (const Case& x : {Case{"gfx1100", "v_wmma_f32_16x16x16_f16 v[", dt::f16},
                        {"gfx1100", "v_wmma_f32_16x16x16_bf16 v[", dt::bf16},
                        {"gfx1201", "v_wmma_f32_16x16x16_f16 v[", dt::f16},
                        {"gfx1201", "v_wmma_f32_16x16x16_bf16 v[", dt::bf16},
                        {"gfx942", "v_mfma_f32_16x16x16_f16 ", dt::f16},
                        {"gfx942", "v_mfma_f32_16x16x16_bf16 ", dt::bf16},
                        {"gfx950", "v_mfma_f32_16x16x32_f16 ", dt::f16},
                        {"gfx950", "v_mfma_f32_16x16x32_bf16 ", dt::bf16},
                        {"gfx1100", "v_wmma_i32_16x16x16_iu8 v[", dt::i8},
                        {"gfx1100", "v_wmma_i32_16x16x16_iu8 v[", dt::u8},
                        {"gfx1201", "v_wmma_i32_16x16x16_iu8 v[", dt::i8},
                        {"gfx1201", "v_wmma_f32_16x16x16_fp8_fp8 ", dt::f8e4m3},
                        {"gfx1201", "v_wmma_f32_16x16x16_bf8_bf8 ", dt::f8e5m2},
                        {"gfx942", "v_mfma_i32_16x16x32_i8 ", dt::i8},
                        {"gfx942", "v_mfma_f32_16x16x32_fp8_fp8 ", dt::f8e4m3fnuz},
                        {"gfx942", "v_mfma_f32_16x16x32_bf8_bf8 ", dt::f8e5m2fnuz},
                        {"gfx950", "v_mfma_i32_16x16x64_i8 ", dt::i8},
                        {"gfx950", "v_mfma_f32_16x16x128_f8f6f4 ", dt::f8e4m3},
                        {"gfx950", "v_mfma_f32_16x16x128_f8f6f4 ", dt::f8e5m2}}) {
    SCOPED_TRACE(std::string(x.chip) + " " + x.t.str());
    const Code c = compile_kernel_for(narrow_product_kernel(x.t, {1, 512, 512, 512}), x.chip);
    EXPECT_TRUE(contains(c, x.instruction)) << c.text;
    EXPECT_EQ(c.descriptor.private_segment_fixed_size, 0u);
  }
}

// Vectors of many inputs stay in registers.
TEST(AmdCode, ManyInputsNeedNoScratch) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942"}) {
    for (const DType t : {dt::u8, dt::f8e4m3, dt::bf16}) {
      for (const i64 inputs : {9, 16, 28}) {
        SCOPED_TRACE(std::string(chip) + " " + t.str() + " " + std::to_string(inputs));
        const Code c = compile_kernel_for(many_inputs_kernel(t, inputs, i64{1} << 24), chip);
        EXPECT_EQ(c.descriptor.private_segment_fixed_size, 0u);
      }
    }
  }
}

// Of f32; of f16 through f32. What there is none of for f64 is decomposed.
TEST(AmdCode, PowersAndLogarithmsAreInstructions) {
  for (const char* chip : {"gfx1030", "gfx1201", "gfx942"}) {
    for (const Op op : {Op::Exp2, Op::Log2}) {
      for (const DType t : {dt::f16, dt::f32, dt::f64}) {
        KernelBuilder k;
        UOp out = k.param(0, 256, t), in = k.param(1, 256, t), i = k.loop(256);
        UOp value = k.arena().make(op, t, {k.load(in, i)});
        const Code c = compile_kernel_for(k.store(out, i, value, {i}), chip);
        EXPECT_EQ(contains(c, op == Op::Exp2 ? "v_exp_f32" : "v_log_f32"), t != dt::f64)
            << chip << " " << t.str() << c.text;
      }
    }
  }
}

// What the plan of a large product takes in registers leaves room for several waves of a SIMD.
TEST(AmdCode, PlansLeaveRoomForWaves) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201", "gfx942"}) {
    const Code c = compile_kernel_for(matmul_kernel(4096, 4096, 4096), chip);
    // GRANULATED_WORKITEM_VGPR_COUNT of COMPUTE_PGM_RSRC1: by 8, less one
    const i64 registers = ((c.descriptor.rsrc1 & 63) + 1) * 8;
    EXPECT_GE(registers, 72) << chip;
    EXPECT_LE(registers, 168) << chip;  // 3 waves of a CDNA SIMD's 512, 6 of 1024
    EXPECT_EQ(c.descriptor.private_segment_fixed_size, 0u) << chip;
  }
}

// out[i] = table[in[i]] of a private array that the item fills first: it cannot live in registers.
LinearProgram dynamic_array(ProgramBuilder& b, i64 count) {
  b.program.group_items[0] = 64;
  UOp out = b.param(dt::f32, 64, true), in = b.param(dt::i32, 64);
  UOp item = special(b, core::SpecialKind::LocalId, 0, 64);
  UOp table = b.op(Op::DefinePrivate, dt::f32, {}, {0, count});
  UOp j = b.range(0, b.number(count, dt::i32));
  UOp number = b.op(Op::Add, dt::i32, {item, j});
  UOp fill = b.end(b.store(b.index(table, j), b.op(Op::Cast, dt::f32, {number})), j);
  UOp filled = b.op(Op::After, dt::f32, {table, fill});
  b.store(b.index(out, item), b.load(b.index(filled, b.load(b.index(in, item)))));
  return b.program;
}

// What a launcher must set up for scratch: docs/hw/amd-code-objects.md.
TEST(AmdCode, PrivateArraysTakeScratch) {
  for (const ChipFacts& chip : kChips) {
    SCOPED_TRACE(chip.name);
    const bool by_buffer = std::string_view(chip.name) == "gfx1030";
    ProgramBuilder b("dynamic");
    const Code c = compile_program(dynamic_array(b, 200), chip.name);
    EXPECT_GE(c.descriptor.private_segment_fixed_size, 800u);
    EXPECT_LT(c.descriptor.private_segment_fixed_size, 1024u);
    EXPECT_EQ(c.descriptor.group_segment_fixed_size, 0u);
    EXPECT_EQ(c.descriptor.rsrc2 & 1, 1u);  // ENABLE_PRIVATE_SEGMENT
    EXPECT_EQ(c.descriptor.enable_sgpr_private_segment_buffer, by_buffer);
    EXPECT_FALSE(c.descriptor.enable_sgpr_flat_scratch_init);
    EXPECT_TRUE(contains(c, by_buffer ? "buffer_store_dword" : "scratch_store_")) << c.text;
    EXPECT_TRUE(contains(c, by_buffer ? "buffer_load_dword" : "scratch_load_")) << c.text;
  }
}

// 220 values alive at once, in groups whose 1024 items leave none of them so many registers: as in
// the conformance suite, which shows that they come back.
TEST(AmdCode, TooManyValuesSpill) {
  constexpr i64 kValues = 220;
  for (const char* chip : {"gfx1030", "gfx1201", "gfx942"}) {
    ProgramBuilder b("spilled");
    b.program.group_items[0] = 1024;
    UOp out = b.param(dt::i32, 1024, true), in = b.param(dt::i32, 1024 * kValues);
    UOp item = special(b, core::SpecialKind::LocalId, 0, 1024);
    std::vector<UOp> values;
    for (i64 i = 0; i < kValues; ++i) {
      UOp at = b.op(Op::Add, dt::i32, {item, b.number(1024 * i, dt::i32)});
      values.push_back(b.load(b.index(in, at)));
    }
    UOp sum = values[0];
    const auto step = [&](i64 i, UOp value) {
      sum = b.op(i % 2 ? Op::Mul : Op::Add, dt::i32, {sum, value});
    };
    for (i64 i = 1; i < kValues; ++i) step(i, values[static_cast<usize>(i)]);
    for (i64 i = kValues; i-- > 0;) step(i + 1, values[static_cast<usize>(i)]);
    b.store(b.index(out, item), sum);
    const Code c = compile_program(b.program, chip);
    EXPECT_GT(c.descriptor.private_segment_fixed_size, 0u) << chip;
    const bool by_buffer = std::string_view(chip) == "gfx1030";
    EXPECT_TRUE(contains(c, by_buffer ? "buffer_store_dword" : "scratch_store_")) << chip;
  }
}

TEST(AmdCode, SaysWhichChipsThereAre) {
  ProgramBuilder b("none");
  Result<std::vector<u8>> image = make_llvm_compiler(target_of("gfx12345"))->compile(b.program, "");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(image.error().message.find("does not know gfx12345"), std::string::npos)
      << image.error().message;
}

}  // namespace
}  // namespace doorbell::codegen::testing
