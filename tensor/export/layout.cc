// Where what a plan names lies outside of this process.
#include "tensor/export/layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tensor/io/safetensors.h"

namespace doorbell::detail {

using engine::must;
using engine::ReplayPlan;
using Source = ExportedFunction::Source;

ExportLayout::ExportLayout(const ExportedFunction& function) : function_(function) {
  for (const auto& constant : function_.plan->constants()) add_constant(constant.get());
  for (const ReplayPlan::Result& result : function_.plan->results)
    if (result.constant && core::TensorGraph::realized(*result.constant))
      add_constant(&engine::buffer_of(*result.constant));
}

void ExportLayout::add_constant(const core::Buffer* buffer) {
  const auto same = [&](const ExportedConstant& known) { return known.buffer == buffer; };
  if (std::find_if(constants_.begin(), constants_.end(), same) != constants_.end()) return;
  constants_.push_back({fmt::format("constant{}", constants_.size()), buffer});
}

ExportMemory ExportLayout::memory_of(const Source& source) const {
  switch (source.kind) {
    case Source::Kind::Argument: return {ExportMemory::Kind::Argument, source.index};
    case Source::Kind::State: return {ExportMemory::Kind::State, source.index};
    case Source::Kind::Fresh: return {ExportMemory::Kind::Fresh, source.index};
    default: UNREACHABLE("a memory that nobody brings");
  }
}

ExportMemory ExportLayout::memory_of(const engine::ExecutionPlan::Argument& argument) const {
  const engine::ExecutionPlan& work = *function_.plan->work;
  if (work.is_fixed(argument.source)) return memory_of_fixed(&work.fixed_at(argument.source));
  return memory_of(function_.sources[argument.source]);
}

ExportMemory ExportLayout::memory_of_fixed(const core::Buffer* buffer) const {
  const auto arenas = function_.plan->arenas();
  for (u32 i = 0; i < arenas.size(); ++i)
    if (arenas[i].get() == buffer) return {ExportMemory::Kind::Arena, i};
  for (u32 i = 0; i < constants_.size(); ++i)
    if (constants_[i].buffer == buffer) return {ExportMemory::Kind::Constant, i};
  UNREACHABLE("memory of a plan that is neither arena nor constant");
}

ExportMemory ExportLayout::memory_of_result(u32 number) const {
  const ReplayPlan::Result& result = function_.plan->results[number];
  if (result.slot >= 0) return memory_of(function_.sources[static_cast<usize>(result.slot)]);
  if (result.fresh >= 0)
    return memory_of(Source{Source::Kind::Fresh, static_cast<u32>(result.fresh)});
  const core::UOp buffer = core::TensorGraph::realized(*result.constant);
  if (!buffer) return {};
  return memory_of_fixed(static_cast<const core::Buffer*>(buffer.payload()));
}

i64 ExportLayout::result_bytes(u32 number) const {
  const ReplayPlan::Result& result = function_.plan->results[number];
  if (result.fresh >= 0) return function_.plan->work->fresh[static_cast<usize>(result.fresh)].bytes;
  if (result.slot >= 0) {
    const Source& source = function_.sources[static_cast<usize>(result.slot)];
    const bool is_argument = source.kind == Source::Kind::Argument;
    return (is_argument ? function_.arguments : function_.states)[source.index].bytes();
  }
  i64 count = 1;
  for (usize axis = 0; axis < result.constant->ndim(); ++axis)
    count *= result.constant->dim(axis).value();
  return count * result.dtype.bytes();
}

void ExportLayout::save_weights(const std::string& path) const {
  nn::NamedTensors tensors;
  for (usize i = 0; i < function_.states.size(); ++i)
    tensors.emplace_back(function_.states[i].name, function_.state_values[i].detach());
  for (const ExportedConstant& constant : constants_) {
    std::vector<std::byte> bytes(static_cast<usize>(constant.buffer->bytes()));
    must(constant.buffer->device().synchronize());
    must(constant.buffer->copy_out(bytes.data(), constant.buffer->bytes()));
    tensors.emplace_back(constant.name,
                         Tensor::from_bytes(bytes, dtypes::u8, {constant.buffer->bytes()}));
  }
  io::save_safetensors(path, tensors);
}

}  // namespace doorbell::detail
