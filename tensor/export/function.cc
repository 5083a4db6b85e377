// What a captured function becomes outside of this process.
#include "tensor/export/function.h"

#include <fmt/format.h>

#include "tensor/api/storage.h"
#include "tensor/jit/jit_program.h"

namespace doorbell::detail {

namespace {

using Source = ExportedFunction::Source;
using Value = ExportedFunction::Value;

std::string name_at(const std::vector<std::string>& names, usize at, const char* otherwise) {
  return at < names.size() ? names[at] : fmt::format("{}{}", otherwise, at);
}

Value plain_value(std::string name, const Form& form, const char* what) {
  if (form.is_symbolic) {
    throw fail(ErrorKind::Unsupported, "export of {} {}, whose shape {} is symbolic", what, name,
               form.shape.str());
  }
  Value value{std::move(name), form.dtype, {}, false};
  for (const Size& size : form.shape) value.shape.push_back(size.value());
  return value;
}

std::string weight_name(const ExportOptions& options, const Tensor& tensor, usize number) {
  for (const auto& [name, known] : options.weights)
    if (Access::cell_untraced(known) == Access::cell_untraced(tensor)) return name;
  return fmt::format("state{}", number);
}

void refuse_exchanges(const engine::ExecutionPlan& plan) {
  for (const engine::ExecutionPlan::Item& item : plan.items)
    if (item.kernel != nullptr && item.kernel->ast == nullptr)
      throw fail(ErrorKind::Unsupported,
                 "cannot export a function that exchanges with other processes ({})",
                 item.kernel->name);
}

}  // namespace

i64 ExportedFunction::Value::bytes() const {
  i64 count = 1;
  for (i64 size : shape) count *= size;
  return count * dtype.bytes();
}

ExportedFunction JitProgram::exported(const ExportOptions& options) const {
  ExportedFunction made;
  made.plan = &replay_->plan();
  std::vector<Source> source_of;  // by holder
  for (usize i = 0; i < holders_.size(); ++i) {
    const Holder& holder = holders_[i];
    source_of.emplace_back();
    if (!holder.is_defined) continue;
    const bool is_argument = holder.argument >= 0;
    std::vector<Value>& values = is_argument ? made.arguments : made.states;
    const u32 number = static_cast<u32>(values.size());
    std::string name = is_argument ? name_at(options.arguments, number, "argument")
                                   : weight_name(options, holder.tensor, number);
    values.push_back(plain_value(std::move(name), holder.form, is_argument ? "argument" : "state"));
    if (!is_argument) made.state_values.push_back(holder.tensor);
    source_of.back() = {is_argument ? Source::Kind::Argument : Source::Kind::State, number};
  }
  if (!requirements_.empty()) {
    throw fail(ErrorKind::Unsupported,
               "cannot export a function that checks its sizes at each call ({})",
               requirements_[0].what);
  }
  refuse_exchanges(*made.plan->work);
  for (const Slot& slot : slots_) {
    if (slot.kind == Slot::Kind::Draw)
      throw fail(ErrorKind::Unsupported, "cannot export a function that draws random numbers");
    if (slot.kind == Slot::Kind::Gradient)
      throw fail(ErrorKind::Unsupported, "cannot export a function that reads gradients");
    made.sources.push_back(source_of[slot.holder]);
  }
  for (u32 i = 0; i < made.plan->work->fresh.size(); ++i)
    made.sources.push_back({Source::Kind::Fresh, i});
  for (const Write& write : writes_) {
    if (write.is_gradient) {
      if (write.result < 0) continue;  // nothing is left of it
      throw fail(ErrorKind::Unsupported, "cannot export a function that leaves gradients behind");
    }
    const Source target = source_of[write.holder];
    std::vector<Value>& values =
        target.kind == Source::Kind::Argument ? made.arguments : made.states;
    values[target.index].is_written = true;
    made.writes.push_back({target, static_cast<u32>(write.result)});
  }
  for (usize i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i] < 0) continue;
    const usize result = static_cast<usize>(outputs_[i]);
    std::string name = name_at(options.results, made.outputs.size(), "result");
    if (!result_shapes_[result].empty()) {
      throw fail(ErrorKind::Unsupported, "export of result {}, whose shape {} is symbolic", name,
                 result_shapes_[result].str());
    }
    const engine::ReplayPlan::Result& given = made.plan->results[result];
    Value value{std::move(name), given.dtype, {}, true};
    if (given.slot >= 0) {
      const Source source = made.sources[static_cast<usize>(given.slot)];
      value.shape =
          (source.kind == Source::Kind::Argument ? made.arguments : made.states)[source.index]
              .shape;
    } else if (given.fresh >= 0) {
      value.shape.assign(given.args.begin() + 3, given.args.end());  // a Buffer node's
    } else {
      for (usize axis = 0; axis < given.constant->ndim(); ++axis)
        value.shape.push_back(given.constant->dim(axis).value());
    }
    made.outputs.push_back({std::move(value), static_cast<u32>(result)});
  }
  for (i64 name : variables_) made.variables.push_back(std::string(core::interned_name(name)));
  return made;
}

}  // namespace doorbell::detail
