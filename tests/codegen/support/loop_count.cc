// A loop is what lies between a backward branch and its target.
#include "tests/codegen/support/loop_count.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace doorbell::codegen::testing {
namespace {

struct Instruction {
  u64 at;
  std::string text;           // from the mnemonic on
  std::optional<u64> target;  // of a branch
};

bool starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool starts_any(std::string_view text, std::initializer_list<std::string_view> with) {
  for (std::string_view w : with) {
    if (starts(text, w)) return true;
  }
  return false;
}

std::string_view trim(std::string_view text) {
  const usize begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t;");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

// "  1a0:\tv_wmma..."; branches count words from the next instruction.
std::optional<Instruction> read_amd(std::string_view line) {
  const usize colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string number(trim(line.substr(0, colon)));
  char* end = nullptr;
  const u64 at = std::strtoull(number.c_str(), &end, 16);
  if (number.empty() || *end != '\0') return std::nullopt;
  Instruction made{at, std::string(trim(line.substr(colon + 1))), {}};
  if (!starts_any(made.text, {"s_branch", "s_cbranch"})) return made;
  const std::string operand(trim(std::string_view(made.text).substr(made.text.rfind(' '))));
  const i64 words = static_cast<i16>(std::strtoll(operand.c_str(), nullptr, 0));
  made.target = at + 4 + static_cast<u64>(words * 4);
  return made;
}

// "        /*0070*/                   @P0 BRA `(.L_x_0) ;"
std::optional<Instruction> read_nv(std::string_view line,
                                   const std::map<std::string, u64>& labels) {
  const usize open = line.find("/*"), close = line.find("*/");
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const std::string number(line.substr(open + 2, close - open - 2));
  char* end = nullptr;
  const u64 at = std::strtoull(number.c_str(), &end, 16);
  if (number.size() != 4 && number.size() != 5) return std::nullopt;
  if (*end != '\0') return std::nullopt;
  std::string_view text = trim(line.substr(close + 2));
  if (starts(text, "@")) text = trim(text.substr(text.find(' ')));
  if (text.empty()) return std::nullopt;
  Instruction made{at, std::string(text), {}};
  const usize label = text.find("`(");
  if (!starts(text, "BRA") || label == std::string_view::npos) return made;
  const auto found =
      labels.find(std::string(text.substr(label + 2, text.find(')', label) - label - 2)));
  if (found != labels.end()) made.target = found->second;
  return made;
}

std::vector<Instruction> read(std::string_view text) {
  const bool nv = has(text, "\t.text.") || has(text, ".section");
  std::vector<Instruction> list;
  std::map<std::string, u64> labels;
  for (const int pass : {0, 1}) {
    list.clear();
    std::vector<std::string> open;
    for (usize at = 0; at < text.size();) {
      const usize end = std::min(text.find('\n', at), text.size());
      const std::string_view line = text.substr(at, end - at);
      at = end + 1;
      if (nv && starts(line, ".L_") && has(line, ":"))
        open.emplace_back(line.substr(0, line.find(':')));
      std::optional<Instruction> made = nv ? read_nv(line, labels) : read_amd(line);
      if (!made) continue;
      for (const std::string& label : open) labels[label] = made->at;
      open.clear();
      list.push_back(std::move(*made));
    }
    if (!nv && pass == 0) break;
  }
  return list;
}

void add_amd(std::string_view t, LoopCount* n) {
  if (starts_any(t, {"v_wmma", "v_mfma", "v_smfma", "v_swmmac"}))
    ++n->matrix;
  else if (starts_any(t, {"ds_load", "ds_read"}))
    ++n->shared_loads;
  else if (starts_any(t, {"ds_store", "ds_write"})) {
    ++n->shared_stores;
    n->narrow_stores += has(t, "_b8") || has(t, "_b16");
  } else if (starts_any(t, {"global_load", "buffer_load", "flat_load"}))
    ++n->global_loads;
  else if (starts_any(t, {"global_store", "buffer_store", "flat_store"}))
    ++n->global_stores;
  else if (starts(t, "scratch"))
    ++n->scratch;
  else if (starts_any(t, {"s_wait", "s_delay", "s_nop", "s_clause", "s_setprio"}))
    ++n->waits;
  else if (starts(t, "s_barrier"))
    ++n->barriers;
  else if (starts(t, "s_"))
    ++n->scalar;
  else if (starts_any(
               t, {"v_mov", "v_perm", "v_accvgpr", "v_pack", "v_alignb", "v_bfi", "v_dual_mov"}))
    ++n->moves;
  else if (starts_any(t, {"v_fma", "v_dual_fma", "v_pk_fma", "v_dot"})) {
    ++n->multiply_adds;
  } else
    ++n->arithmetic;
}

void add_nv(std::string_view t, LoopCount* n) {
  if (starts_any(t, {"HMMA", "IMMA", "QMMA", "DMMA", "HGMMA", "IGMMA", "QGMMA"}))
    ++n->matrix;
  else if (starts(t, "LDGSTS"))
    ++n->global_loads;
  else if (starts(t, "LDS"))
    ++n->shared_loads;  // LDSM too
  else if (starts(t, "STS")) {
    ++n->shared_stores;
    n->narrow_stores += has(t, ".U8") || has(t, ".U16") || has(t, ".S8") || has(t, ".S16");
  } else if (starts_any(t, {"LDG", "LD."}))
    ++n->global_loads;
  else if (starts_any(t, {"STG", "ST."}))
    ++n->global_stores;
  else if (starts_any(t, {"LDL", "STL"}))
    ++n->scratch;
  else if (starts_any(t, {"DEPBAR", "LDGDEPBAR", "NOP", "WARPSYNC", "YIELD", "WARPGROUP", "FENCE",
                          "MEMBAR"}))
    ++n->waits;
  else if (starts(t, "BAR"))
    ++n->barriers;
  else if (starts_any(t, {"MOV", "PRMT", "R2UR", "SEL"}))
    ++n->moves;
  else if (starts_any(t, {"FFMA", "HFMA2"}))
    ++n->multiply_adds;
  else if (starts_any(t, {"U", "BRA", "S2"}))
    ++n->scalar;
  else
    ++n->arithmetic;
}

LoopCount count_all(std::span<const Instruction> loop) {
  LoopCount n;
  for (const Instruction& i : loop) {
    ++n.all;
    i.text[0] >= 'a' ? add_amd(i.text, &n) : add_nv(i.text, &n);
    n.text += i.text + "\n";
  }
  return n;
}

bool ends_loop(const Instruction& i) { return i.target && *i.target <= i.at; }

// The loop whose last instruction is number `end`.
std::span<const Instruction> loop_of(std::span<const Instruction> list, usize end) {
  usize begin = end;
  while (begin > 0 && list[begin].at > *list[end].target) --begin;
  return list.subspan(begin, end + 1 - begin);
}

}  // namespace

// Loops without work, which elect a lane or try again, are part of the one around them.
LoopCount count_inner_loop(std::string_view disassembly) {
  const std::vector<Instruction> list = read(disassembly);
  LoopCount best;
  for (usize end = 0; end < list.size(); ++end) {
    if (!ends_loop(list[end]) || list[end].at == *list[end].target) continue;
    const std::span<const Instruction> loop = loop_of(list, end);
    const usize first = end + 1 - loop.size();
    bool inner = true;
    for (usize i = first; i < end && inner; ++i)
      inner = !ends_loop(list[i]) || count_all(loop_of(list, i)).work() == 0;
    if (!inner) continue;
    LoopCount n = count_all(loop);
    if (n.matrix > best.matrix || (n.matrix == best.matrix && n.multiply_adds > best.multiply_adds))
      best = std::move(n);
  }
  return best;
}

std::string print(const LoopCount& n) {
  return fmt::format(
      "{} matrix, {} multiply-adds, {} others: shared {} loads {} stores ({} narrow), global {} "
      "loads {} stores, {} waits, {} barriers, {} moves, {} arithmetic, {} scalar, {} scratch",
      n.matrix, n.multiply_adds, n.others(), n.shared_loads, n.shared_stores, n.narrow_stores,
      n.global_loads, n.global_stores, n.waits, n.barriers, n.moves, n.arithmetic, n.scalar,
      n.scratch);
}

}  // namespace doorbell::codegen::testing
