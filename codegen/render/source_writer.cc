// The walk that all renderers of text share.
#include "codegen/render/source_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "codegen/linear/tensor_copy.h"
#include "codegen/render/memory.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

// Longer expressions get a name, for readability.
constexpr usize kInlineLimit = 60;

bool opens_block(UOp u) { return u.is(Op::Range) || u.is(Op::If); }
bool closes_block(UOp u) { return u.is(Op::End) || u.is(Op::EndIf); }

}  // namespace

SourceWriter::SourceWriter(const LinearProgram& program) : program_(program) {}

std::string SourceWriter::write() {
  u32 ids = 0;
  for (UOp u : program_.ops) {
    ids = std::max(ids, u.id() + 1);
    for (UOp s : u.srcs()) ids = std::max(ids, s.id() + 1);
  }
  text_.assign(ids, "");
  uses_.assign(ids, 0);
  use_block_.assign(ids, -1);
  count_uses();
  for (UOp u : program_.ops) add_op(u);
  CHECK(blocks_.size() == 1, "{} blocks left open in {}", blocks_.size() - 1, program_.name);
  return whole(locals_, body_);
}

void SourceWriter::count_uses() {
  std::vector<int> open = {0};
  int count = 1;
  auto use = [&](UOp s) {
    bool same_block = uses_[s.id()] == 0 || use_block_[s.id()] == open.back();
    use_block_[s.id()] = same_block ? open.back() : -1;
    ++uses_[s.id()];
  };
  for (UOp u : program_.ops) {
    if (u.is(Op::Index)) continue;  // printed inside its accesses
    for (UOp s : u.srcs()) {
      if (!s.is(Op::Index)) {
        use(s);
      } else {
        for (UOp inner : s.srcs()) use(inner);
      }
    }
    if (opens_block(u)) open.push_back(count++);
    if (closes_block(u) && open.size() > 1) open.pop_back();
  }
}

bool SourceWriter::may_inline(UOp u) const {
  return core::is_elementwise(u.op()) && uses_[u.id()] <= 1 && use_block_[u.id()] == blocks_.back();
}

void SourceWriter::line(const std::string& statement) {
  body_ += std::string(static_cast<usize>(indent_) * 2, ' ') + statement + "\n";
}

std::string SourceWriter::text(UOp u) {
  if (u.is_const()) return constant(u);
  CHECK(u.id() < text_.size() && !text_[u.id()].empty(), "op {} is used before it is listed",
        core::name_of(u.op()));
  return text_[u.id()];
}

usize SourceWriter::variable_position(UOp u) const {
  auto it = std::find(program_.variables.begin(), program_.variables.end(), u.arg(0));
  CHECK(it != program_.variables.end(), "variable {} is not an argument",
        core::interned_name(u.arg(0)));
  return static_cast<usize>(it - program_.variables.begin());
}

void SourceWriter::add_value(UOp u, std::string expression) {
  std::string& text = text_[u.id()];
  if (may_inline(u) && expression.size() <= kInlineLimit) {
    text = std::move(expression);
    return;
  }
  text = fmt::format("v{}", names_++);
  line(value(u.dtype(), text, expression));
}

void SourceWriter::begin_range(UOp u) {
  std::string name = fmt::format("i{}", u.arg(0));
  if (const std::string before = before_loop(u); !before.empty()) line(before);
  line(loop(u, name));
  text_[u.id()] = name;
  ++indent_;
  blocks_.push_back(block_count_++);
}

void SourceWriter::add_op(UOp u) {
  switch (u.op()) {
    case Op::Const:
    case Op::Index:
    case Op::Sink: return;
    case Op::Group: return is_async_batch(u) ? line(commit()) : void();
    case Op::Param: text_[u.id()] = param_name(u.arg(0)); return;
    case Op::Variable: text_[u.id()] = variable(u.dtype(), variable_position(u)); return;
    case Op::Special: return add_value(u, special(u));
    case Op::DefinePrivate:
      text_[u.id()] = fmt::format("a{}", u.arg(0));
      return line(private_array(u, text_[u.id()]));
    case Op::DefineLocal:
      text_[u.id()] = fmt::format("l{}", u.arg(0));
      // Shared memory is declared before the body, wherever the list mentions it.
      locals_ += local_array(u, text_[u.id()]) + "\n";
      return;
    case Op::Barrier: return line(barrier(u));
    case Op::DefineReg:
      text_[u.id()] = fmt::format("r{}", u.arg(0));
      return line(reg(u.dtype(), text_[u.id()]));
    case Op::Range: return begin_range(u);
    case Op::If:
      line(fmt::format("if ({}) {{", text(u.src(0))));
      ++indent_;
      blocks_.push_back(block_count_++);
      return;
    case Op::End:
    case Op::EndIf:
      CHECK(blocks_.size() > 1, "{} without a block", core::name_of(u.op()));
      blocks_.pop_back();
      --indent_;
      return line("}");
    case Op::After: text_[u.id()] = text_[u.src(0).id()]; return;
    case Op::Load: {
      bool from_register = memory_of(u.src(0)).is(Op::DefineReg);
      if (is_finished_load(u)) return add_value(u, finished(u));
      return add_value(u, from_register ? text(u.src(0)) : load(u));
    }
    case Op::Store: {
      bool to_register = memory_of(u.src(0)).is(Op::DefineReg);
      if (to_register) return line(fmt::format("{} = {};", text(u.src(0)), text(u.src(1))));
      return line(store(u));
    }
    case Op::Wmma: return add_value(u, matrix(u));
    case Op::Vec:
    case Op::Splat:
    case Op::Lane:
    case Op::Ramp: return add_value(u, vector(u));
    default:
      CHECK(core::is_elementwise(u.op()), "op {} in a program as text", core::name_of(u.op()));
      return add_value(u, elementwise(u));
  }
}

std::string SourceWriter::vector(UOp u) {
  UNREACHABLE("vectors ({}) in {}, where there are none", core::name_of(u.op()), program_.name);
}

std::string SourceWriter::local_array(UOp, const std::string& name) {
  UNREACHABLE("memory {} of a work group, where there are none", name);
}

std::string SourceWriter::matrix(UOp) {
  UNREACHABLE("a matrix instruction in {}, where there are none", program_.name);
}

std::string SourceWriter::finished(UOp) {
  UNREACHABLE("matrix instructions that are done later in {}, where there are none", program_.name);
}

std::string SourceWriter::commit() {
  UNREACHABLE("asynchronous stores in {}, where there are none", program_.name);
}

std::string SourceWriter::tensor_copy(UOp) {
  UNREACHABLE("copies of boxes in {}, where there are none", program_.name);
}

std::string SourceWriter::phase_wait(UOp) {
  UNREACHABLE("phases of copies in {}, where there are none", program_.name);
}

std::string SourceWriter::barrier(UOp) {
  UNREACHABLE("a barrier in {}, where there are no work groups", program_.name);
}

}  // namespace doorbell::codegen
