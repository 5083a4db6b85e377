// Kernels for the tests of languages with work groups, and clang as a reader of their text.
#pragma once

#include "base/os/process.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {

inline core::UOp special(ProgramBuilder& b, core::SpecialKind kind, i64 axis, i64 extent) {
  return b.op(core::Op::Special, core::dtypes::i32, {}, {static_cast<i64>(kind), axis, extent});
}

// A group reverses its eight elements through shared memory; out of bounds is 1.
inline void fill_reversal(ProgramBuilder& b, core::DType t) {
  using core::Op;
  using core::UOp;
  namespace dt = core::dtypes;
  b.program.grid_groups[0] = 3;
  b.program.group_items[0] = 8;
  UOp out = b.param(t, 24, true), in = b.param(t, 20);
  UOp group = special(b, core::SpecialKind::GroupId, 0, 3);
  UOp item = special(b, core::SpecialKind::LocalId, 0, 8);
  UOp first = b.op(Op::Mul, dt::i32, {group, b.number(8, dt::i32)});
  UOp at = b.op(Op::Add, dt::i32, {first, item});
  UOp inside = b.op(Op::CmpLt, dt::bool_, {at, b.number(20, dt::i32)});
  UOp x = b.op(Op::Load, t, {b.gated(in, at, inside), b.number(1, t)});
  UOp shared = b.op(Op::DefineLocal, t, {}, {0, 8});
  UOp filled = b.store(b.index(shared, item), x);
  UOp met = b.op(Op::Barrier, dt::void_, {filled});
  UOp ready = b.op(Op::After, t, {shared, met});
  UOp back = b.op(Op::Sub, dt::i32, {b.number(7, dt::i32), item});
  b.store(b.index(out, at), b.load(b.index(ready, back)));
}

// What clang says to a text of this language, with warnings as errors; empty where it takes it.
inline std::string clang_refusal(const std::vector<std::string>& language,
                                 const std::string& source) {
  for (const char* clang : {"clang", "clang-22", "clang-21", "clang-20", "clang-19"}) {
    std::vector<std::string> command = {clang};
    command.insert(command.end(), language.begin(), language.end());
    for (const char* argument : {"-target", "spir64", "-fsyntax-only", "-Werror", "-Wall",
                                 "-Wno-unused", "-Wno-parentheses-equality", "-"})
      command.push_back(argument);
    Result<os::ProcessOutput> output = os::run_process(command, source);
    if (!output) continue;
    return output->exit_status == 0 ? "" : output->error_out + source;
  }
  return "no clang here, which setup installs";
}

}  // namespace doorbell::codegen::testing
