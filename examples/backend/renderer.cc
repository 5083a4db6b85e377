// One walk over the program: every node gets a register, and most of them one instruction.
#include "examples/backend/renderer.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <bit>

#include "base/util/check.h"
#include "core/eval/eval.h"
#include "examples/backend/isa.h"

namespace doorbell::abacus {

namespace {

using codegen::Caps;
using codegen::LinearProgram;
using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

// The operations with an instruction. All others are composed of these.
constexpr struct {
  Op op;
  const char* name;
} kNative[] = {{Op::Cast, "cast"}, {Op::Bitcast, "bits"}, {Op::Sqrt, "sqrt"}, {Op::Add, "add"},
               {Op::Sub, "sub"},   {Op::Mul, "mul"},      {Op::FDiv, "fdiv"}, {Op::CDiv, "cdiv"},
               {Op::CmpLt, "lt"},  {Op::CmpNe, "ne"},     {Op::And, "and"},   {Op::Or, "or"},
               {Op::Xor, "xor"},   {Op::Shl, "shl"},      {Op::Shr, "shr"},   {Op::Where, "sel"}};
constexpr Scalar kTypes[kTypeCount] = {Scalar::Bool, Scalar::I8,  Scalar::U8,  Scalar::I16,
                                       Scalar::U16,  Scalar::I32, Scalar::U32, Scalar::I64,
                                       Scalar::U64,  Scalar::F32};

Caps abacus_caps() {
  Caps caps;
  for (const auto& native : kNative) caps.ops.set(static_cast<usize>(native.op));
  for (Scalar scalar : kTypes) {
    caps.dtypes.set(static_cast<usize>(scalar));
    caps.storage_dtypes.set(static_cast<usize>(scalar));
  }
  caps.vector_bytes = 0;  // a scalar machine
  caps.private_arrays = false;
  return caps;
}

std::string_view type_name(DType dtype) {
  for (int i = 0; i < kTypeCount; ++i)
    if (kTypes[i] == dtype.scalar) return name_of(static_cast<Type>(i));
  UNREACHABLE("{} is not among the caps", dtype.str());
}

UOp memory_of(UOp u) {
  while (u.is(Op::After)) u = u.src(0);
  return u;
}

class Text {
 public:
  explicit Text(const LinearProgram& program) : program_(program) {}
  std::string render() {
    for (UOp u : program_.ops) node(u);
    line("halt");
    return std::move(text_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  void label(std::string_view name, u32 number) { text_ += fmt::format("{}{}:\n", name, number); }
  u32 fresh() { return next_++; }
  u32 reg(UOp u) {
    const auto [found, added] = registers_.try_emplace(u.node(), next_);
    if (added) ++next_;
    return found->second;
  }
  u32 constant(i64 value) {
    u32 made = fresh();
    line("li r{} {}", made, value);
    return made;
  }

  void node(UOp u) {
    switch (u.op()) {
      case Op::Const: line("li r{} {}", reg(u), bits_of(u)); return;
      case Op::Param: line("arg r{} {}", reg(u), u.arg(0)); return;
      case Op::Variable: line("var r{} {}", reg(u), variable(u)); return;
      case Op::Range: open_loop(u); return;
      case Op::End: close_loop(u.src(1)); return;
      case Op::Load: load(u); return;
      case Op::Store: store(u); return;
      // Registers are assigned at the first write, addresses computed where they are used; the list
      // has the order.
      case Op::DefineReg:
      case Op::Index:
      case Op::After:
      case Op::Group: return;
      default: arithmetic(u);
    }
  }

  static i64 bits_of(UOp u) {
    if (!u.dtype().is_float()) return u.arg(0);
    return std::bit_cast<u32>(static_cast<f32>(std::bit_cast<f64>(u.arg(0))));
  }
  i64 variable(UOp u) const {
    for (usize i = 0; i < program_.variables.size(); ++i)
      if (program_.variables[i] == u.arg(0)) return static_cast<i64>(i);
    UNREACHABLE("a variable that the program does not list");
  }

  void open_loop(UOp range) {
    u32 counter = reg(range), number = loops_[range.node()] = loop_count_++;
    line("li r{} 0", counter);
    label("loop", number);
    line("jge r{} r{} end{}", counter, reg(range.src(0)), number);
  }
  void close_loop(UOp range) {
    u32 number = loops_.at(range.node()), counter = reg(range);
    line("add.i64 r{} r{} r{}", counter, counter, constant(1));
    line("jmp loop{}", number);
    label("end", number);
  }

  // The address of an element.
  u32 address(UOp index) {
    UOp memory = memory_of(index.src(0));
    CHECK(memory.is(Op::Param), "{} is not among the caps", core::name_of(memory.op()));
    u32 offset = fresh(), sum = fresh();
    line("mul.i64 r{} r{} r{}", offset, reg(index.src(1)), constant(memory.dtype().bytes()));
    line("add.i64 r{} r{} r{}", sum, reg(memory), offset);
    return sum;
  }
  // Writes code that runs `access` only if the gate is true.
  void gated(UOp index, auto&& access) {
    if (index.nsrc() < 3) return access();
    u32 number = loop_count_++;
    line("jge r{} r{} end{}", constant(0), reg(index.src(2)), number);
    access();
    label("end", number);
  }
  void load(UOp u) {
    UOp place = u.src(0);
    if (!place.is(Op::Index)) return line("mov r{} r{}", reg(u), reg(memory_of(place)));
    u32 to = reg(u);
    if (place.nsrc() > 2) line("mov r{} r{}", to, reg(u.src(1)));
    gated(place, [&] { line("ld.{} r{} r{}", type_name(u.dtype()), to, address(place)); });
  }
  void store(UOp u) {
    UOp place = u.src(0), value = u.src(1);
    if (!place.is(Op::Index)) return line("mov r{} r{}", reg(memory_of(place)), reg(value));
    gated(place,
          [&] { line("st.{} r{} r{}", type_name(value.dtype()), address(place), reg(value)); });
  }

  void arithmetic(UOp u) {
    for (const auto& native : kNative) {
      if (native.op != u.op()) continue;
      std::string head = native.name;
      // The type that the instruction works on: of comparisons, what is compared.
      bool compares = u.is(Op::CmpLt) || u.is(Op::CmpNe);
      if (!u.is(Op::Where))
        head += fmt::format(".{}", type_name((compares ? u.src(0) : u).dtype()));
      if (u.is(Op::Cast)) head += fmt::format(".{}", type_name(u.src(0).dtype()));
      std::string operands = fmt::format(" r{}", reg(u));
      for (UOp s : u.srcs()) operands += fmt::format(" r{}", reg(s));
      return line("{}{}", head, operands);
    }
    UNREACHABLE("{} is not among the caps", core::name_of(u.op()));
  }

  const LinearProgram& program_;
  std::string text_;
  absl::flat_hash_map<const core::Node*, u32> registers_, loops_;
  u32 next_ = 0, loop_count_ = 0;
};

class AbacusRenderer final : public codegen::Renderer {
 public:
  std::string_view name() const override { return "ABACUS"; }
  const Caps& caps() const override { return caps_; }
  std::string render(const LinearProgram& program) const override { return Text(program).render(); }

 private:
  const Caps caps_ = abacus_caps();
};

}  // namespace

std::unique_ptr<codegen::Renderer> make_renderer() { return std::make_unique<AbacusRenderer>(); }

}  // namespace doorbell::abacus
