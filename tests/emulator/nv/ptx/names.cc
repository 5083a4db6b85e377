// The names of PTX's instructions, split at their dots.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "tests/emulator/nv/ptx/module.h"

namespace doorbell::ptx {

namespace {

constexpr Type kTypes[] = {
    {"pred", Class::Predicate, 1},
    {"b8", Class::Bits, 8},
    {"b16", Class::Bits, 16},
    {"b32", Class::Bits, 32},
    {"b64", Class::Bits, 64},
    {"u8", Class::Unsigned, 8},
    {"u16", Class::Unsigned, 16},
    {"u32", Class::Unsigned, 32},
    {"u64", Class::Unsigned, 64},
    {"s8", Class::Signed, 8},
    {"s16", Class::Signed, 16},
    {"s32", Class::Signed, 32},
    {"s64", Class::Signed, 64},
    {"f16", Class::Float, 16, 1, &kF16},
    {"f16x2", Class::Float, 16, 2, &kF16},
    {"bf16", Class::Float, 16, 1, &kBf16},
    {"bf16x2", Class::Float, 16, 2, &kBf16},
    {"f32", Class::Float, 32, 1, &kF32},
    {"f64", Class::Float, 64, 1, &kF64},
    {"tf32", Class::Float, 32, 1, &kTf32},
    {"e4m3", Class::Float, 8, 1, &kE4m3},
    {"e4m3x2", Class::Float, 8, 2, &kE4m3},
    {"e5m2", Class::Float, 8, 1, &kE5m2},
    {"e5m2x2", Class::Float, 8, 2, &kE5m2},
};

struct NamedRounding {
  std::string_view name;
  Rounding rounding;
  bool to_integer;
};
constexpr NamedRounding kRoundings[] = {
    {"rn", Rounding::Nearest, false}, {"rna", Rounding::NearestAway, false},
    {"rz", Rounding::Zero, false},    {"rm", Rounding::Down, false},
    {"rp", Rounding::Up, false},      {"rni", Rounding::Nearest, true},
    {"rzi", Rounding::Zero, true},    {"rmi", Rounding::Down, true},
    {"rpi", Rounding::Up, true},
};

struct NamedSpace {
  std::string_view name;
  Space space;
};
constexpr NamedSpace kSpaces[] = {{"global", Space::Global},
                                  {"shared", Space::Shared},
                                  {"local", Space::Local},
                                  {"param", Space::Param}};

struct NamedWord {
  std::string_view name;
  Word word;
};
constexpr NamedWord kWords[] = {
#define WORD(name, text) {text, Word::name},
#include "tests/emulator/nv/ptx/words.def"
};

const std::vector<HandlerEntry>& all_handlers() {
  static const std::vector<HandlerEntry> kAll = [] {
    std::vector<HandlerEntry> all;
    for (const auto make : {integer_handlers, bit_handlers, float_handlers, convert_handlers,
                            memory_handlers, warp_handlers, matrix_handlers, warpgroup_handlers})
      std::ranges::move(make(), std::back_inserter(all));
    return all;
  }();
  return kAll;
}

template <class List>
auto find_named(const List& list, std::string_view name) {
  const auto at = std::ranges::find_if(list, [&](const auto& one) { return one.name == name; });
  return at == std::end(list) ? nullptr : &*at;
}

bool read_shape(const std::string& word, Instruction* instruction) {
  auto& [m, n, k] = instruction->shape;
  int used = 0;
  return std::sscanf(word.c_str(), "m%un%uk%u%n", &m, &n, &k, &used) == 3 &&
         used == static_cast<int>(word.size());
}

bool read_word(std::string word, Instruction* instruction) {
  if (word == "shared::cta") word = "shared";
  // Of mul and mad `hi` and `lo` are halves; of setp they are comparisons, with the same words.
  if (const auto* type = find_named(kTypes, word)) {
    instruction->types.push_back(*type);
  } else if (const auto* rounding = find_named(kRoundings, word)) {
    instruction->rounding = rounding->rounding;
    instruction->rounds_to_integer = rounding->to_integer;
  } else if (const auto* space = find_named(kSpaces, word)) {
    instruction->space = space->space;
  } else if (const auto* known = find_named(kWords, word)) {
    instruction->words.set(static_cast<usize>(known->word));
  } else {
    return read_shape(word, instruction);
  }
  return true;
}

}  // namespace

Result<void> read_name(std::string_view opcode, Instruction* instruction) {
  const std::string whole(opcode);
  usize dot = opcode.find('.');
  instruction->name = opcode.substr(0, dot);
  while (dot != std::string_view::npos) {
    const usize next = opcode.find('.', dot + 1);
    const std::string_view word = opcode.substr(dot + 1, next - dot - 1);
    if (!read_word(std::string(word), instruction))
      return fail(ErrorKind::Unsupported, "'{}' of {} is not known", word, whole);
    dot = next;
  }
  if (instruction->name == "bar" && instruction->has(Word::Warp)) instruction->name = "bar.warp";
  const HandlerEntry* entry = find_named(all_handlers(), instruction->name);
  if (entry == nullptr) return fail(ErrorKind::Unsupported, "{} is not known", whole);
  instruction->handler = entry->handler;
  instruction->together = entry->together;
  return {};
}

}  // namespace doorbell::ptx
