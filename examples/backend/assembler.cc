// Two passes over the text: positions of labels, then instructions. And disassembly, for DEBUG=7.
#include "examples/backend/assembler.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "base/util/try.h"
#include "examples/backend/isa.h"

namespace doorbell::abacus {

namespace {

using Words = std::vector<std::string_view>;

// Splits at separators, dropping empty words.
Words split(std::string_view text, char separator) {
  Words words;
  while (!text.empty()) {
    const usize end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

class Assembly {
 public:
  Result<std::vector<u8>> assemble(std::string_view text) {
    std::vector<Words> lines;
    for (std::string_view line : split(text, '\n')) {
      Words words = split(line, ' ');
      if (words.empty()) continue;
      if (words[0].ends_with(':'))
        labels_[words[0].substr(0, words[0].size() - 1)] = lines.size();
      else
        lines.push_back(std::move(words));
    }
    std::vector<Instruction> instructions;
    for (const Words& words : lines) {
      TRY(Instruction instruction, encode(words));
      instructions.push_back(instruction);
    }
    const ImageHeader header{kImageMagic, registers_, static_cast<u32>(instructions.size())};
    std::vector<u8> image(sizeof header + instructions.size() * sizeof(Instruction));
    std::memcpy(image.data(), &header, sizeof header);
    if (!instructions.empty())
      std::memcpy(image.data() + sizeof header, instructions.data(), image.size() - sizeof header);
    return image;
  }

 private:
  // words: "cast.f32.i32" "r4" "r2", in the order of the opcode's operands.
  Result<Instruction> encode(const Words& words) {
    Words head = split(words[0], '.');
    Instruction made{};
    TRY(made.opcode, opcode(head[0]));
    usize type = 1, word = 1;
    for (char operand : operands_of(made.opcode)) {
      const bool is_type = operand == 't' || operand == 'f';
      usize& next = is_type ? type : word;
      const Words& from = is_type ? head : words;
      if (next >= from.size())
        return fail(ErrorKind::Compile, "{} lacks operand {}", words[0], operand);
      TRY(fill(&made, operand, from[next++]));
    }
    if (type != head.size() || word != words.size())
      return fail(ErrorKind::Compile, "{} has {} operands, expected {}", words[0],
                  words.size() - 1 + head.size() - 1, operands_of(made.opcode).size());
    return made;
  }

  template <class T>
  static Result<void> put(T* to, Result<T> value) {
    TRY(*to, std::move(value));
    return {};
  }
  Result<void> fill(Instruction* made, char operand, std::string_view word) {
    switch (operand) {
      case 't': return put(&made->type, type(word));
      case 'f': return put(&made->from, type(word));
      case 'd': return put(&made->d, reg(word));
      case 'a': return put(&made->a, reg(word));
      case 'b': return put(&made->b, reg(word));
      case 'c': return put(&made->c, reg(word));
      case 'l': return put(&made->c, label(word));
      default: break;
    }
    TRY(i64 value, number<i64>(word));
    made->a = static_cast<u32>(value), made->b = static_cast<u32>(value >> 32);
    return {};
  }

  Result<u32> label(std::string_view word) const {
    const auto found = labels_.find(word);
    if (found == labels_.end()) return fail(ErrorKind::Compile, "no label {}", word);
    return static_cast<u32>(found->second);
  }
  static Result<Opcode> opcode(std::string_view word) {
    for (int i = 0; i < kOpcodeCount; ++i)
      if (name_of(static_cast<Opcode>(i)) == word) return static_cast<Opcode>(i);
    return fail(ErrorKind::Compile, "no opcode {}", word);
  }
  static Result<Type> type(std::string_view word) {
    for (int i = 0; i < kTypeCount; ++i)
      if (name_of(static_cast<Type>(i)) == word) return static_cast<Type>(i);
    return fail(ErrorKind::Compile, "no type {}", word);
  }
  template <class T>
  static Result<T> number(std::string_view word) {
    T value{};
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size())
      return fail(ErrorKind::Compile, "{} is no number", word);
    return value;
  }
  Result<u32> reg(std::string_view word) {
    if (!word.starts_with('r')) return fail(ErrorKind::Compile, "{} is no register", word);
    TRY(u32 value, number<u32>(word.substr(1)));
    registers_ = std::max(registers_, value + 1);
    return value;
  }

  absl::flat_hash_map<std::string_view, usize> labels_;  // their instructions
  u32 registers_ = 0;
};

std::string disassemble_one(const Instruction& at) {
  std::string head(name_of(at.opcode)), rest;
  for (char operand : operands_of(at.opcode)) {
    switch (operand) {
      case 't': head += fmt::format(".{}", name_of(at.type)); break;
      case 'f': head += fmt::format(".{}", name_of(at.from)); break;
      case 'd': rest += fmt::format(" r{}", at.d); break;
      case 'a': rest += fmt::format(" r{}", at.a); break;
      case 'b': rest += fmt::format(" r{}", at.b); break;
      case 'c': rest += fmt::format(" r{}", at.c); break;
      case 'i': rest += fmt::format(" {}", static_cast<i64>(at.a | u64{at.b} << 32)); break;
      default: rest += fmt::format(" @{}", at.c); break;
    }
  }
  return head + rest;
}

class Assembler final : public codegen::Compiler {
 public:
  const std::string& key() const override { return key_; }
  bool wants_source() const override { return true; }
  Result<std::vector<u8>> compile(const codegen::LinearProgram&,
                                  std::string_view source) const override {
    return Assembly().assemble(source);
  }
  Result<std::string> disassemble(std::span<const u8> image) const override {
    TRY(Code code, decode(image));
    std::string text;
    for (usize i = 0; i < code.instructions.size(); ++i)
      text += fmt::format("{:5}: {}\n", i, disassemble_one(code.instructions[i]));
    return text;
  }

 private:
  const std::string key_ = "abacus 1";  // increase it when old images would no longer run
};

}  // namespace

std::unique_ptr<codegen::Compiler> make_assembler() { return std::make_unique<Assembler>(); }

}  // namespace doorbell::abacus
