// ExportLayout: which memory holds an argument of a kernel, or a result, of an exported function,
// whatever language it is written in; and the weights file with the tensors among it.
#pragma once

#include <string>
#include <vector>

#include "tensor/export/function.h"

namespace doorbell::detail {

// A constant of the plan that results or kernels need, as the weights file calls it.
struct ExportedConstant {
  std::string name;
  const core::Buffer* buffer;
};

// Results begin where their memory does.
struct ExportMemory {
  enum class Kind : u8 { None, Arena, Constant, Argument, State, Fresh } kind = Kind::None;
  u32 index = 0;
  bool operator==(const ExportMemory&) const = default;
};

class ExportLayout {
 public:
  explicit ExportLayout(const ExportedFunction& function);

  const std::vector<ExportedConstant>& constants() const { return constants_; }
  ExportMemory memory_of(const ExportedFunction::Source& source) const;
  ExportMemory memory_of(const engine::ExecutionPlan::Argument& argument) const;
  // None: of a result without elements.
  ExportMemory memory_of_result(u32 result) const;
  i64 result_bytes(u32 result) const;
  // Throws Error: a file that cannot be written.
  void save_weights(const std::string& path) const;

 private:
  void add_constant(const core::Buffer* buffer);
  ExportMemory memory_of_fixed(const core::Buffer* buffer) const;

  const ExportedFunction& function_;
  std::vector<ExportedConstant> constants_;
};

}  // namespace doorbell::detail
