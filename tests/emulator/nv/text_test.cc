// The decoder's text of every instruction of kernels compiled for each chip, compared with
// nvdisasm's: name, guard and operands. Modifiers of names (".AND") and of operands (".reuse",
// ".H0_H0") are not part of our text.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "codegen/lower/lower.h"
#include "emulator/nv/compute/cubin.h"
#include "emulator/nv/isa/operation.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/emulator/nv/cuda_kernel.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

std::string_view strip(std::string_view text) {
  const usize first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (usize at = 0; at <= text.size();) {
    const usize end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string without(std::string text, std::string_view part) {
  for (usize at = text.find(part); at != text.npos; at = text.find(part))
    text.erase(at, part.size());
  return text;
}

// nvdisasm's names of special registers; ours are numbers.
const std::map<std::string, std::string>& special_registers() {
  static const auto* const kNames = new std::map<std::string, std::string>{
      {"SR_LANEID", "SR0x0"},   {"SR_TID.X", "SR0x21"},    {"SR_TID.Y", "SR0x22"},
      {"SR_TID.Z", "SR0x23"},   {"SR_CTAID.X", "SR0x25"},  {"SR_CTAID.Y", "SR0x26"},
      {"SR_CTAID.Z", "SR0x27"}, {"SR_CgaCtaId", "SR0x88"}, {"SRZ", "SR0xff"}};
  return *kNames;
}

std::string plain_operand(std::string_view text) {
  std::string operand(strip(text));
  for (const char* suffix : {".reuse", ".H0_H0", ".H1_H1", ".ROW", ".COL"})
    operand = without(operand, suffix);
  if (operand.starts_with("desc[")) operand = operand.substr(operand.find(']') + 1);
  if (operand.starts_with('`')) return "target";
  const auto special = special_registers().find(operand);
  return special == special_registers().end() ? operand : special->second;
}

// "@!P0 LDG.E R4, [R2.64]": guard, name, operands.
struct Line {
  std::string guard, name;
  std::vector<std::string> operands;
};
Line split_line(std::string_view text) {
  Line line;
  text = strip(text);
  if (text.starts_with('@')) {
    line.guard = text.substr(0, text.find(' '));
    text = strip(text.substr(text.find(' ')));
  }
  line.name = text.substr(0, text.find(' '));
  if (text.find(' ') == text.npos) return line;
  for (std::string_view operand : split(text.substr(text.find(' ')), ','))
    line.operands.push_back(plain_operand(operand));
  return line;
}

// Numbers that are printed with different precision are the same.
bool is_same_operand(const std::string& ours, const std::string& theirs) {
  if (ours == theirs) return true;
  if (ours.starts_with("0x") || ours.starts_with("-0x")) return false;
  f64 a = 0, b = 0;
  const auto number = [](const std::string& text, f64& value) {
    const std::string plain = without(text, "Q");
    char* end = nullptr;
    value = std::strtod(plain.c_str(), &end);
    return !plain.empty() && *end == 0;
  };
  if (!number(ours, a) || !number(theirs, b)) return false;
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= 1e-15 * std::fabs(a);
}

bool is_same(const Line& ours, const Line& theirs) {
  if (ours.guard != theirs.guard || !theirs.name.starts_with(ours.name)) return false;
  if (ours.operands.size() != theirs.operands.size()) return false;
  for (usize i = 0; i < ours.operands.size(); ++i)
    if (!is_same_operand(ours.operands[i], theirs.operands[i])) return false;
  return true;
}

// nvdisasm's lines by address: "        /*0010*/      MOV R1, c[0x0][0x28] ;".
std::map<u64, std::string> lines_of(std::string_view text) {
  std::map<u64, std::string> lines;
  for (std::string_view line : split(text, '\n')) {
    line = strip(line);
    const usize end = line.find("*/"), semicolon = line.find(';');
    if (!line.starts_with("/*") || end == line.npos || semicolon == line.npos) continue;
    const u64 address = std::strtoull(std::string(line.substr(2, end - 2)).c_str(), nullptr, 16);
    lines[address] = std::string(line.substr(end + 2, semicolon - end - 2));
  }
  return lines;
}

void compare_with(const std::string& theirs, const Cubin& cubin) {
  const CubinKernel& kernel = cubin.kernels().at(0);
  const std::map<u64, std::string> lines = lines_of(theirs);
  EXPECT_EQ(lines.size(), kernel.code_bytes / sizeof(Words));
  for (const auto& [address, line] : lines) {
    Words words;
    std::memcpy(&words, cubin.code().data() + kernel.entry - Cubin::kCodeStart + address,
                sizeof(Words));
    const std::string ours = text_of(decode_one(words, static_cast<u32>(address)));
    EXPECT_TRUE(is_same(split_line(ours), split_line(line)))
        << kernel.name << "+" << fmt::format("{:#x}", address) << ": " << ours
        << "\n  nvdisasm: " << line;
  }
}

class NvText : public ::testing::TestWithParam<std::string> {};

TEST_P(NvText, AgreesWithNvdisasm) {
  using namespace codegen;
  const testing::CompiledCuda probe =
      compile_cuda("extern \"C\" __global__ void test() {}", "sm_86");
  if (!probe.cubin) GTEST_SKIP() << probe.missing;
  const codegen::testing::NvToolchain nv = codegen::testing::make_nv_toolchain(GetParam());
  if (!nv.compiler) GTEST_SKIP() << nv.compiler.error().message;
  usize compared = 0;
  const auto check = [&](const core::KernelAst& kernel) {
    core::Arena arena;
    const LinearProgram program = lower(kernel, nv.renderer->caps(), arena);
    auto image = (*nv.compiler)->compile(program, nv.renderer->render(program));
    ASSERT_TRUE(image) << to_string(image.error());
    auto text = (*nv.compiler)->disassemble(*image);
    if (!text && text.error().kind == ErrorKind::NotFound) return;
    ASSERT_TRUE(text) << to_string(text.error());
    auto cubin = Cubin::parse(*image);
    ASSERT_TRUE(cubin) << to_string(cubin.error());
    compare_with(*text, **cubin);
    ++compared;
  };
  check(matmul_kernel(64, 64, 64));
  check(row_reduce_kernel(core::Op::Max, 64, 4096));
  const bool is_cuda = GetParam().starts_with("CUDA");
  check(narrow_product_kernel(is_cuda ? core::dtypes::f16 : core::dtypes::bf16, {2, 32, 32, 32}));
  if (compared == 0) GTEST_SKIP() << "no nvdisasm (pip install nvidia-cuda-nvdisasm)";
}

INSTANTIATE_TEST_SUITE_P(Chips, NvText,
                         ::testing::Values("CUDA_sm_86", "CUDA_sm_89", "CUDA_sm_90", "PTX_sm_86",
                                           "PTX_sm_89", "PTX_sm_90"),
                         [](const auto& info) { return info.param; });

// The fields of a control word, as its bits were set by hand.
TEST(NvControl, FieldsOfTheControlWord) {
  // Bits 105 to 125: stall 5, yield, scoreboards 2 (written) and 7 (read), wait for 0 and 3,
  // reuse 2.
  const u64 high = (u64{5} | u64{1} << 4 | u64{2} << 5 | u64{7} << 8 | u64{9} << 11 | u64{2} << 17)
                   << 41;
  const Control control = control_of({0, high});
  EXPECT_EQ(control.stall, 5u);
  EXPECT_TRUE(control.yield);
  EXPECT_EQ(control.write_barrier, 2u);
  EXPECT_EQ(control.read_barrier, 7u);
  EXPECT_EQ(control.wait, 9u);
  EXPECT_EQ(control.reuse, 2u);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
