// The machine of a pickle: a stack of values, marks on it, and a memo of values to come back to.
#include "tensor/io/pickle.h"

#include <algorithm>
#include <cstring>

#include <absl/container/flat_hash_map.h>

#include "base/util/try.h"

namespace doorbell::io {

namespace {

using Kind = PickleValue::Kind;

// The instructions, by their names in pickletools.
enum class Op : u8 {
  Mark = '(',
  Stop = '.',
  PopMark = '1',
  Pop = '0',
  BinFloat = 'G',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  Long1 = 0x8a,
  None = 'N',
  NewTrue = 0x88,
  NewFalse = 0x89,
  BinPersId = 'Q',
  Reduce = 'R',
  BinUnicode = 'X',
  ShortBinUnicode = 0x8c,
  BinString = 'T',
  ShortBinString = 'U',
  Append = 'a',
  Appends = 'e',
  Build = 'b',
  Global = 'c',
  StackGlobal = 0x93,
  EmptyDict = '}',
  EmptyList = ']',
  EmptyTuple = ')',
  Tuple = 't',
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  Memoize = 0x94,
  SetItem = 's',
  SetItems = 'u',
  Proto = 0x80,
  Frame = 0x95,
};

constexpr u8 kNewestProtocol = 5;

// What comes from a file is cut short in messages.
std::string shown(std::string_view text) {
  constexpr usize kMax = 64;
  std::string result;
  for (char c : text.substr(0, kMax)) result += c >= ' ' && c <= '~' ? c : '?';
  return result;
}

class Machine {
 public:
  Machine(std::span<const u8> bytes, std::span<const std::string_view> allowed)
      : bytes_(bytes), allowed_(allowed) {}

  Result<Pickle> run();

 private:
  Result<void> step(Op op);
  Result<void> read_number(Op op);
  Result<void> read_text(Op op);
  Result<void> read_global(Op op);
  Result<void> collect(Op op);
  Result<void> fill(Op op);
  Result<void> remember(Op op);
  Result<void> call(Op op);

  Error at_fault(std::string_view what) const {
    return fail(ErrorKind::Corrupt, "{} at byte {} of the pickle", what, start_);
  }
  Result<u64> take(usize count);  // little-endian
  Result<std::string> take_text(u64 length);
  Result<std::string> take_line();
  Result<u32> pop();
  Result<std::vector<u32>> pop_to_mark();

  void push(u32 number) { stack_.push_back(number); }
  void push(PickleValue value) {
    pickle_.values.push_back(std::move(value));
    stack_.push_back(static_cast<u32>(pickle_.values.size() - 1));
  }

  std::span<const u8> bytes_;
  std::span<const std::string_view> allowed_;
  Pickle pickle_;
  std::vector<u32> stack_;
  std::vector<usize> marks_;  // sizes of the stack
  absl::flat_hash_map<u64, u32> memo_;
  usize at_ = 0, start_ = 0;  // here, and where the instruction began
};

Result<u64> Machine::take(usize count) {
  if (bytes_.size() - at_ < count) return at_fault("an instruction without its end");
  u64 value = 0;
  for (usize i = 0; i < count; ++i) value |= u64{bytes_[at_ + i]} << (8 * i);
  at_ += count;
  return value;
}

Result<std::string> Machine::take_text(u64 length) {
  if (bytes_.size() - at_ < length) return at_fault("text without its end");
  const auto* text = reinterpret_cast<const char*>(bytes_.data()) + at_;
  at_ += length;
  return std::string(text, length);
}

Result<std::string> Machine::take_line() {
  const auto rest = bytes_.subspan(at_);
  const auto end = std::find(rest.begin(), rest.end(), u8{'\n'});
  if (end == rest.end()) return at_fault("a line without its end");
  TRY(std::string line, take_text(static_cast<u64>(end - rest.begin())));
  ++at_;
  return line;
}

// Never beyond the last mark.
Result<u32> Machine::pop() {
  const usize floor = marks_.empty() ? 0 : marks_.back();
  if (stack_.size() <= floor) return at_fault("a missing value");
  const u32 top = stack_.back();
  stack_.pop_back();
  return top;
}

Result<std::vector<u32>> Machine::pop_to_mark() {
  if (marks_.empty()) return at_fault("a missing mark");
  const auto first = stack_.begin() + static_cast<i64>(marks_.back());
  std::vector<u32> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  marks_.pop_back();
  return items;
}

Result<void> Machine::read_number(Op op) {
  PickleValue value{.kind = Kind::Int};
  switch (op) {
    case Op::BinFloat: {
      TRY(u64 bits, take(8));
      bits = __builtin_bswap64(bits);  // the one big-endian number
      value.kind = Kind::Float;
      std::memcpy(&value.real, &bits, sizeof bits);
      break;
    }
    case Op::BinInt: {
      TRY(const u64 bits, take(4));
      value.integer = static_cast<i32>(bits);
      break;
    }
    case Op::Long1: {
      TRY(const u64 length, take(1));
      if (length > 8) return at_fault("an integer of more than 64 bits");
      TRY(const u64 bits, take(length));
      const u64 unused = length == 0 ? 0 : 64 - 8 * length;
      value.integer = static_cast<i64>(bits << unused) >> unused;
      break;
    }
    default: {
      TRY(const u64 bits, take(op == Op::BinInt1 ? 1 : 2));
      value.integer = static_cast<i64>(bits);
    }
  }
  push(std::move(value));
  return {};
}

Result<void> Machine::read_text(Op op) {
  const bool is_short = op == Op::ShortBinUnicode || op == Op::ShortBinString;
  TRY(const u64 length, take(is_short ? 1 : 4));
  PickleValue value{.kind = Kind::String};
  TRY(value.text, take_text(length));
  push(std::move(value));
  return {};
}

Result<void> Machine::read_global(Op op) {
  std::string module, name;
  if (op == Op::Global) {
    TRY(module, take_line());
    TRY(name, take_line());
  } else {
    TRY(const u32 second, pop());
    TRY(const u32 first, pop());
    if (pickle_[first].kind != Kind::String || pickle_[second].kind != Kind::String)
      return at_fault("a name that is no text");
    module = pickle_[first].text;
    name = pickle_[second].text;
  }
  std::string whole = module + "." + name;
  if (std::find(allowed_.begin(), allowed_.end(), whole) == allowed_.end())
    return fail(ErrorKind::Unsupported, "the pickle names {} at byte {}, which tensors do not need",
                shown(whole), start_);
  push({.kind = Kind::Global, .text = std::move(whole)});
  return {};
}

Result<void> Machine::collect(Op op) {
  PickleValue value{.kind = Kind::Tuple};
  if (op == Op::Tuple) {
    TRY(value.items, pop_to_mark());
  } else {
    const usize count = 1 + static_cast<usize>(op) - static_cast<usize>(Op::Tuple1);
    for (usize i = 0; i < count; ++i) {
      TRY(const u32 item, pop());
      value.items.insert(value.items.begin(), item);
    }
  }
  push(std::move(value));
  return {};
}

// Adds to the list or dict below.
Result<void> Machine::fill(Op op) {
  const bool to_list = op == Op::Append || op == Op::Appends;
  std::vector<u32> items;
  if (op == Op::Appends || op == Op::SetItems) {
    TRY(items, pop_to_mark());
  } else {
    for (int i = to_list ? 1 : 2; i > 0; --i) {
      TRY(const u32 item, pop());
      items.insert(items.begin(), item);
    }
  }
  TRY(const u32 below, pop());
  push(below);
  PickleValue& whole = pickle_.values[below];
  if (whole.kind != (to_list ? Kind::List : Kind::Dict) || (!to_list && items.size() % 2 != 0))
    return at_fault("items of something that takes none");
  whole.items.insert(whole.items.end(), items.begin(), items.end());
  return {};
}

Result<void> Machine::remember(Op op) {
  if (op == Op::BinGet || op == Op::LongBinGet) {
    TRY(const u64 key, take(op == Op::BinGet ? 1 : 4));
    const auto found = memo_.find(key);
    if (found == memo_.end()) return at_fault("a value that was not kept");
    push(found->second);
    return {};
  }
  u64 key = memo_.size();
  if (op != Op::Memoize) {
    TRY(key, take(op == Op::BinPut ? 1 : 4));
  }
  TRY(const u32 top, pop());
  push(top);
  memo_[key] = top;
  return {};
}

Result<void> Machine::call(Op op) {
  TRY(const u32 argument, pop());
  if (op == Op::BinPersId) {
    push({.kind = Kind::Persistent, .items = {argument}});
    return {};
  }
  TRY(const u32 below, pop());
  if (op == Op::Build) {  // attributes beside the items of a dict: versions of modules
    if (pickle_[below].kind != Kind::Dict) return at_fault("a state for something that has none");
    push(below);
    return {};
  }
  if (pickle_[below].kind != Kind::Global || pickle_[argument].kind != Kind::Tuple)
    return at_fault("a call of something else than a name");
  if (pickle_[below].text == "collections.OrderedDict") {
    if (!pickle_[argument].items.empty()) return at_fault("an OrderedDict of arguments");
    push({.kind = Kind::Dict});
    return {};
  }
  push({.kind = Kind::Call, .items = {below, argument}});
  return {};
}

Result<void> Machine::step(Op op) {
  switch (op) {
    case Op::Proto: {
      TRY(const u64 protocol, take(1));
      if (protocol > kNewestProtocol) return at_fault("a protocol after the fifth");
      return {};
    }
    case Op::Frame: {
      TRY([[maybe_unused]] const u64 length, take(8));
      return {};
    }
    case Op::Mark: marks_.push_back(stack_.size()); return {};
    case Op::Pop: {
      TRY([[maybe_unused]] const u32 gone, pop());
      return {};
    }
    case Op::PopMark: {
      TRY([[maybe_unused]] const auto gone, pop_to_mark());
      return {};
    }
    case Op::None: push({.kind = Kind::None}); return {};
    case Op::NewTrue: push({.kind = Kind::Bool, .integer = 1}); return {};
    case Op::NewFalse: push({.kind = Kind::Bool}); return {};
    case Op::EmptyDict: push({.kind = Kind::Dict}); return {};
    case Op::EmptyList: push({.kind = Kind::List}); return {};
    case Op::EmptyTuple: push({.kind = Kind::Tuple}); return {};
    case Op::BinFloat:
    case Op::BinInt:
    case Op::BinInt1:
    case Op::BinInt2:
    case Op::Long1: return read_number(op);
    case Op::BinUnicode:
    case Op::ShortBinUnicode:
    case Op::BinString:
    case Op::ShortBinString: return read_text(op);
    case Op::Global:
    case Op::StackGlobal: return read_global(op);
    case Op::Tuple:
    case Op::Tuple1:
    case Op::Tuple2:
    case Op::Tuple3: return collect(op);
    case Op::Append:
    case Op::Appends:
    case Op::SetItem:
    case Op::SetItems: return fill(op);
    case Op::BinGet:
    case Op::LongBinGet:
    case Op::BinPut:
    case Op::LongBinPut:
    case Op::Memoize: return remember(op);
    case Op::BinPersId:
    case Op::Reduce:
    case Op::Build: return call(op);
    case Op::Stop: break;  // run's
  }
  return fail(ErrorKind::Unsupported, "instruction {:#04x} at byte {} of the pickle",
              static_cast<u8>(op), start_);
}

Result<Pickle> Machine::run() {
  for (;;) {
    start_ = at_;
    TRY(const u64 code, take(1));
    const Op op = static_cast<Op>(code);
    if (op == Op::Stop) break;
    TRY(step(op));
  }
  if (!marks_.empty() || stack_.size() != 1) return at_fault("an end with values left over");
  pickle_.root = stack_.back();
  pickle_.bytes = at_;
  return std::move(pickle_);
}

}  // namespace

Result<Pickle> parse_pickle(std::span<const u8> bytes, std::span<const std::string_view> allowed) {
  return Machine(bytes, allowed).run();
}

}  // namespace doorbell::io
