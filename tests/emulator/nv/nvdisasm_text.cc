// Reads nvdisasm's lines and compares them with the decoder's.
#include "tests/emulator/nv/nvdisasm_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "emulator/nv/isa/operation.h"

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
  for (std::string_view operand : split(text.substr(text.find(' ')), ',')) {
    operand = strip(operand);
    // RET has no comma before its target, which is a number where the file has no labels.
    const usize target = std::min(operand.find(" `"), operand.find(" 0x"));
    if (target != operand.npos) line.operands.push_back(plain_operand(operand.substr(0, target)));
    line.operands.push_back(
        plain_operand(target == operand.npos ? operand : operand.substr(target)));
  }
  return line;
}

// Numbers that are printed with different precision are the same.
bool is_same_operand(const std::string& ours, const std::string& theirs) {
  if (ours == theirs || theirs.starts_with("32@")) return true;  // the name of a relocation
  if (ours == "target") return theirs.starts_with("0x") || theirs.starts_with("-0x");
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

// nvdisasm's lines of a section, by address: "        /*0010*/      MOV R1, c[0x0][0x28] ;".
// Without a section: those of a file of words alone.
std::map<u64, std::string> lines_of(std::string_view text, const std::string& section) {
  std::map<u64, std::string> lines;
  bool inside = section.empty();
  for (std::string_view line : split(text, '\n')) {
    line = strip(line);
    if (line.starts_with(".section") && !line.starts_with(".sectioninfo"))
      inside = line.find(section + ",") != line.npos;
    const usize end = line.find("*/"), semicolon = line.find(';');
    if (!inside || !line.starts_with("/*") || end == line.npos || semicolon == line.npos) continue;
    const u64 address = std::strtoull(std::string(line.substr(2, end - 2)).c_str(), nullptr, 16);
    lines[address] = std::string(line.substr(end + 2, semicolon - end - 2));
  }
  return lines;
}

TextComparison compare(const std::map<u64, std::string>& lines, std::span<const u8> code, u32 chip,
                       const std::string& name) {
  TextComparison result;
  result.instructions = lines.size();
  if (lines.size() != code.size() / sizeof(Words))
    result.differences.push_back(fmt::format("{}: {} instructions, nvdisasm has {}", name,
                                             code.size() / sizeof(Words), lines.size()));
  for (const auto& [address, line] : lines) {
    Words words;
    if (address + sizeof(Words) > code.size()) break;
    std::memcpy(&words, code.data() + address, sizeof(Words));
    const Operation op = decode_one(words, static_cast<u32>(address), chip);
    const Line their_line = split_line(line);
    const bool executed = op.opcode != nullptr && op.opcode->handler != nullptr;
    ++(executed ? result.executed
                : result.not_executed)[their_line.name.substr(0, their_line.name.find('.'))];
    const std::string ours = text_of(op);
    if (!is_same(split_line(ours), their_line))
      result.differences.push_back(
          fmt::format("{}+{:#x}: {}; nvdisasm: {}", name, address, ours, strip(line)));
  }
  return result;
}

}  // namespace

TextComparison compare_text(const std::string& theirs, const Cubin& cubin) {
  const CubinKernel& kernel = cubin.kernels().at(0);
  const auto code = cubin.code().subspan(kernel.entry - Cubin::kCodeStart, kernel.code_bytes);
  return compare(lines_of(theirs, ".text." + kernel.name), code, cubin.chip(), kernel.name);
}

TextComparison compare_words(const std::string& theirs, std::span<const u8> code, u32 chip) {
  return compare(lines_of(theirs, ""), code, chip, fmt::format("sm_{}", chip));
}

}  // namespace doorbell::emu::nvgpu::testing
