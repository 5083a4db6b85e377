// Text to a kernel. [PTX ISA 9.0, "Syntax", "State Spaces, Types, and Variables"]
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/util/try.h"
#include "tests/emulator/nv/ptx/module.h"

namespace doorbell::ptx {

namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' ||
         c == '.' || c == ':';
}

// Words, numbers, and single characters. A label's colon is a token of its own.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (usize at = 0; at < text.size();) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\0') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"') {
      const usize end = text.find('"', at + 1);
      tokens.emplace_back(text.substr(at, end + 1 - at));
      at = end + 1;
    } else if (is_word_character(c)) {
      usize end = at;
      while (end < text.size() && is_word_character(text[end])) ++end;
      const bool label = text[end - 1] == ':';
      tokens.emplace_back(text.substr(at, end - at - (label ? 1 : 0)));
      if (label) tokens.emplace_back(":");
      at = end;
    } else {
      tokens.emplace_back(1, c);
      ++at;
    }
  }
  return tokens;
}

const std::map<std::string, Special>& specials() {
  static const std::map<std::string, Special> kSpecials = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%lanemask_eq", Special::LaneMaskEq},
      {"%lanemask_lt", Special::LaneMaskLt},
      {"%lanemask_le", Special::LaneMaskLe},
      {"%lanemask_gt", Special::LaneMaskGt},
      {"%lanemask_ge", Special::LaneMaskGe},
  };
  return kSpecials;
}

u32 bits_of(const std::string& type) {
  if (type == ".pred") return 1;
  return static_cast<u32>(std::atoi(type.c_str() + type.find_first_of("0123456789")));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  Result<Kernel> module() {
    while (at_ < tokens_.size()) {
      const std::string word = take();
      if (word == ".version" || word == ".address_size") {
        take();
      } else if (word == ".target") {
        do take();
        while (skip(","));
      } else if (word == ".shared") {
        TRY(variable(&kernel_.shared_bytes));
      } else if (word == ".extern") {
        TRY(expect(".shared"));
        TRY(variable(&kernel_.shared_bytes));
      } else if (word == ".entry") {
        TRY(entry());
      } else if (word != ".visible" && word != ".weak") {
        return fail(ErrorKind::Unsupported, "{} outside of a kernel", word);
      }
    }
    if (kernel_.name.empty()) return fail(ErrorKind::Invalid, "a module without a kernel");
    TRY(find_targets());
    return std::move(kernel_);
  }

 private:
  // A register or the address of a variable.
  struct Name {
    bool is_register = false;
    u64 value = 0;
  };

  std::string take() { return at_ < tokens_.size() ? tokens_[at_++] : std::string(); }
  bool is_next(std::string_view token) const {
    return at_ < tokens_.size() && tokens_[at_] == token;
  }
  bool skip(std::string_view token) {
    if (!is_next(token)) return false;
    ++at_;
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (skip(token)) return {};
    return fail(ErrorKind::Invalid, "found '{}', expected '{}'",
                at_ < tokens_.size() ? tokens_[at_] : "the end", token);
  }

  Result<void> entry() {
    if (!kernel_.name.empty()) return fail(ErrorKind::Unsupported, "two kernels in a module");
    kernel_.name = take();
    if (skip("(")) {
      while (!skip(")")) TRY(parameter());
    }
    while (!is_next("{")) {
      const std::string directive = take();
      if (directive.empty()) return fail(ErrorKind::Invalid, "a kernel without a body");
      for (usize axis = 0; axis == 0 || skip(","); ++axis) {
        const u32 value = static_cast<u32>(std::atoi(take().c_str()));
        if (directive == ".reqntid" && axis < 3) kernel_.block[axis] = value;
      }
      if (directive == ".reqntid")
        for (u32& extent : kernel_.block) extent = std::max(extent, 1u);
    }
    take();
    TRY(body());
    Instruction end;
    end.text = "ret";
    TRY(read_name("ret", &end));
    kernel_.instructions.push_back(std::move(end));
    return {};
  }

  // .param .u64 .ptr .global .align 1 name
  Result<void> parameter() {
    TRY(expect(".param"));
    u32 bytes = 0;
    while (tokens_[at_].front() == '.') {
      const std::string word = take();
      if (word == ".align") {
        take();
      } else if (bytes == 0) {
        bytes = bits_of(word) / 8;
      }
    }
    names_.back()[take()] = {false, place(&kernel_.parameter_bytes, bytes, bytes)};
    kernel_.parameters.push_back(bytes);
    skip(",");
    return {};
  }

  static u64 place(u32* used, u32 bytes, u32 alignment) {
    *used = (*used + alignment - 1) / alignment * alignment;
    const u64 at = *used;
    *used += bytes;
    return at;
  }

  // .align 64 .b8 name[1024];  or, of what a launch adds, name[];
  Result<void> variable(u32* used) {
    u32 alignment = 0;
    std::string type = take();
    if (type == ".align") {
      alignment = static_cast<u32>(std::atoi(take().c_str()));
      type = take();
    }
    const u32 element = bits_of(type) / 8;
    const std::string name = take();
    u32 count = 1;
    if (skip("[")) {
      count = is_next("]") ? 0 : static_cast<u32>(std::atoi(take().c_str()));
      TRY(expect("]"));
    }
    if (used == &kernel_.shared_bytes) {
      if (has_dynamic_shared_)
        return fail(ErrorKind::Unsupported, "{} after an array whose size a launch says", name);
      has_dynamic_shared_ = count == 0;
    }
    names_.back()[name] = {false, place(used, element * count, std::max(alignment, element))};
    return expect(";");
  }

  // .reg .b32 %r<7>;  or  .reg .b32 a, b;
  Result<void> registers() {
    const u32 bits = bits_of(take());
    do {
      const std::string name = take();
      if (!skip("<")) {
        add_register(name, bits);
        continue;
      }
      const int count = std::atoi(take().c_str());
      for (int i = 0; i < count; ++i) add_register(name + std::to_string(i), bits);
      TRY(expect(">"));
    } while (skip(","));
    return expect(";");
  }
  void add_register(const std::string& name, u32 bits) {
    names_.back()[name] = {true, kernel_.register_bits.size()};
    kernel_.register_bits.push_back(bits);
  }

  Result<void> body() {
    for (usize depth = 1; depth > 0;) {
      if (at_ >= tokens_.size()) return fail(ErrorKind::Invalid, "a kernel without an end");
      const std::string word = take();
      if (word == "{") {
        names_.emplace_back();
        ++depth;
      } else if (word == "}") {
        if (--depth > 0) names_.pop_back();
      } else if (word == ".reg") {
        TRY(registers());
      } else if (word == ".shared") {
        TRY(variable(&kernel_.shared_bytes));
      } else if (word == ".local") {
        TRY(variable(&kernel_.local_bytes));
      } else if (word == ".pragma") {
        pragma();
      } else if (is_next(":")) {
        take();
        labels_[word] = static_cast<u32>(kernel_.instructions.size());
      } else {
        TRY(instruction(word));
      }
    }
    return {};
  }

  // Of the next load: [PTX ISA, "Pragma Strings", "used_bytes_mask"].
  void pragma() {
    constexpr std::string_view kUsedBytes = "\"used_bytes_mask ";
    for (std::string word = take(); word != ";"; word = take())
      if (word.starts_with(kUsedBytes))
        used_bytes_ = static_cast<u32>(std::strtoul(word.c_str() + kUsedBytes.size(), nullptr, 16));
  }

  Result<void> instruction(std::string word) {
    Instruction made{.used_bytes = std::exchange(used_bytes_, ~u32{0})};
    const usize start = at_ - 1;
    if (word == "@") {
      made.guard_not = skip("!");
      TRY(const Name guard, find(take()));
      made.guard = static_cast<int>(guard.value);
      word = take();
    }
    TRY(read_name(word, &made));
    while (!skip(";")) {
      if (at_ >= tokens_.size()) return fail(ErrorKind::Invalid, "{} has no end", word);
      if (made.name == "bra") {
        branches_[static_cast<u32>(kernel_.instructions.size())] = take();
        continue;
      }
      TRY(Operand operand, this->operand());
      made.operands.push_back(std::move(operand));
      if (!skip(",")) skip("|");
    }
    for (usize i = start; i < at_; ++i) made.text += (made.text.empty() ? "" : " ") + tokens_[i];
    made.pc = static_cast<u32>(kernel_.instructions.size());
    kernel_.instructions.push_back(std::move(made));
    return {};
  }

  Result<Operand> operand() {
    if (skip("!")) {
      TRY(Operand predicate, operand());
      predicate.is_not = true;
      return predicate;
    }
    if (skip("[")) {
      TRY(Operand address, operand());
      while (!skip("]")) {
        skip("+");
        TRY(const Operand offset, operand());
        address.value += offset.value;
      }
      return address;
    }
    if (!skip("{")) return scalar();
    Operand vector{.kind = Operand::Kind::Vector};
    while (!skip("}")) {
      TRY(Operand part, operand());
      vector.parts.push_back(std::move(part));
      skip(",");
    }
    return vector;
  }

  Result<Operand> scalar() {
    const bool minus = skip("-");
    const std::string word = take();
    if (word == "_") return Operand{};
    const auto special = specials().find(word);
    if (special != specials().end())
      return Operand{.kind = Operand::Kind::Special, .index = static_cast<u32>(special->second)};
    if (word == "WARP_SZ") return immediate(32);
    if (word.empty() || !std::isdigit(static_cast<unsigned char>(word[0]))) {
      TRY(const Name name, find(word));
      if (!name.is_register) return immediate(name.value);
      return Operand{.kind = Operand::Kind::Register, .index = static_cast<u32>(name.value)};
    }
    const bool is_float = word[0] == '0' && word.size() > 1 &&
                          std::string_view("fFdD").find(word[1]) != std::string_view::npos;
    char* end = nullptr;
    const u64 value =
        is_float ? std::strtoull(word.c_str() + 2, &end, 16) : std::strtoull(word.c_str(), &end, 0);
    if (*end != '\0' && *end != 'U') return fail(ErrorKind::Unsupported, "number {}", word);
    return immediate(minus ? -value : value);
  }
  static Operand immediate(u64 value) { return {.kind = Operand::Kind::Immediate, .value = value}; }

  Result<Name> find(const std::string& name) const {
    for (auto scope = names_.rbegin(); scope != names_.rend(); ++scope) {
      const auto at = scope->find(name);
      if (at != scope->end()) return at->second;
    }
    return fail(ErrorKind::Unsupported, "{} is not declared", name);
  }

  Result<void> find_targets() {
    for (const auto& [from, label] : branches_) {
      const auto at = labels_.find(label);
      if (at == labels_.end()) return fail(ErrorKind::Invalid, "no label {}", label);
      kernel_.instructions[from].target = at->second;
    }
    return {};
  }

  const std::vector<std::string> tokens_;
  usize at_ = 0;
  Kernel kernel_;
  std::vector<std::map<std::string, Name>> names_{1};  // of each scope
  std::map<std::string, u32> labels_;
  std::map<u32, std::string> branches_;  // labels by instruction
  u32 used_bytes_ = ~u32{0};             // of the next instruction
  bool has_dynamic_shared_ = false;
};

}  // namespace

Result<Kernel> parse(std::string_view text) { return Parser(text).module(); }

}  // namespace doorbell::ptx
