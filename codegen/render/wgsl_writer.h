// WgslWriter: WGSL, the language of WebGPU. It has scalars only. How it takes its arguments is in
// drivers/webgpu/hw/abi/bindings.h; functions and conversions are wgsl_helpers.h's.
//
// The language lets a compiler assume that there are no infinities and NaNs. So constants of them
// are made of a word that it does not know, as are factors and divisors that are 0; a value is
// compared with itself by its bits, and a comparison that a NaN makes true is the negation of one
// that it makes false. It lets a compiler reorder sums too, so that what rounds on purpose passes
// through its bits.
#pragma once

#include <string>
#include <string_view>

#include "codegen/caps.h"
#include "codegen/render/source_writer.h"
#include "codegen/render/wgsl_helpers.h"
#include "codegen/render/wgsl_renderer.h"
#include "drivers/webgpu/hw/abi/bindings.h"

namespace doorbell::codegen {

class WgslWriter final : public SourceWriter {
 public:
  WgslWriter(const LinearProgram& program, const Caps& caps, WgslDialect dialect);

 private:
  std::string constant(core::UOp u) override;
  std::string elementwise(core::UOp u) override;
  std::string special(core::UOp u) override;
  std::string variable(core::DType t, usize position) override;
  std::string load(core::UOp u) override;
  std::string store(core::UOp u) override;
  std::string value(core::DType t, const std::string& name, const std::string& expression) override;
  std::string reg(core::DType t, const std::string& name) override;
  std::string loop(core::UOp range, const std::string& name) override;
  std::string private_array(core::UOp u, const std::string& name) override;
  std::string local_array(core::UOp u, const std::string& name) override;
  std::string barrier(core::UOp) override { return "workgroupBarrier();"; }
  std::string whole(const std::string& shared, const std::string& body) override;

  // Of a constant; `hidden`: so that no compiler knows it.
  std::string float_text(core::DType t, core::UOp u, bool hidden = false);
  std::string unary(core::UOp u);
  std::string binary(core::UOp u);
  std::string int_binary(core::UOp u);
  std::string wide_binary(core::UOp u);
  std::string bool_binary(core::UOp u);
  std::string float_binary(core::UOp u);
  std::string compare(core::UOp u);
  std::string shift(core::UOp u);
  std::string infix(core::UOp u, std::string_view op);
  std::string call(const std::string& function, core::UOp u);
  // A source of a float sum or product, by way of its bits where reordering would lose it.
  std::string term(core::UOp u, usize i);
  // A source of a float product, or a divisor, by way of what no compiler knows where it is 0.
  std::string factor(core::UOp u);
  // The element's number as a word.
  std::string place(core::UOp index);
  // A value's bits as memory has them, and back.
  std::string to_memory(core::DType t, const std::string& x);
  std::string from_memory(core::DType t, const std::string& x);

  // A function that combines an array of a work group by subgroups; its name.
  std::string combining(core::UOp load, const std::string& array);

  const Caps& caps_;
  const WgslDialect dialect_;
  WgslHelpers helpers_;
  bool uses_subgroups_ = false;
};

// Of the program's arguments.
webgpu::hw::KernelAbi abi_of(const LinearProgram& program);

}  // namespace doorbell::codegen
