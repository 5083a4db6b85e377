// The calls of a jitted function, apart from the function.
#include "tensor/jit/jit_state.h"

#include <fmt/format.h>

#include <atomic>
#include <optional>

#include "core/util/config.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/view.h"
#include "tensor/engine/realize.h"
#include "tensor/export/function.h"
#include "tensor/jit/capture.h"

namespace doorbell::detail {

namespace {

// Before the folder of setting EXPORT.
constexpr std::string_view kExportAsWgsl = "wgsl:";

// An untracked tensor of its own with the value, so that no output is a handle of an argument or of
// state, and none leads gradients out of the function.
Tensor settled(const Tensor& tensor) {
  refuse_part_of_file(tensor);
  NoGradScope no_grad;
  if (is_always_empty(tensor)) return unshared(tensor.detach());
  return Tensor::from_uop(engine::materialized_node(*Access::cell(tensor).value));
}

Arguments tensors_of(const JitParts& parts) { return {parts.tensors.data(), parts.tensors.size()}; }

std::span<const Size> sizes_of(const JitParts& parts) {
  return {parts.sizes.data(), parts.sizes.size()};
}

// The tensors' forms; none of one that is not defined.
using Forms = absl::InlinedVector<std::optional<Form>, 8>;

Forms forms_of(const JitParts& arguments) {
  Forms forms;
  for (const Tensor* tensor : arguments.tensors)
    forms.push_back(tensor->defined() ? std::optional(Form::of(stored_value(*tensor)))
                                      : std::nullopt);
  return forms;
}

}  // namespace

struct JitGraph {
  const void* signature;
  absl::InlinedVector<usize, 8> lengths;
  Forms forms;
  std::unique_ptr<JitProgram> program{};  // none before the second call
  std::any outputs{};

  bool fits(const JitParts& arguments, const void* given) const {
    if (signature != given || lengths != arguments.lengths ||
        forms.size() != arguments.tensors.size())
      return false;
    for (usize i = 0; i < forms.size(); ++i) {
      const Tensor& tensor = *arguments.tensors[i];
      if (forms[i].has_value() != tensor.defined()) return false;
      if (tensor.defined() && !forms[i]->fits(stored_value(tensor))) return false;
    }
    return true;
  }
};

JitState::JitState(usize max_graphs) : max_graphs_(max_graphs) {
  if (max_graphs == 0)
    throw fail(ErrorKind::Invalid, "max_graphs of a jitted function is 0, expected 1 or more");
}
JitState::~JitState() = default;

bool JitState::is_nested() { return observer != nullptr; }

void JitState::end_nested(const JitParts& outputs) {
  for (Tensor* output : outputs.tensors)
    if (output->defined()) *output = unshared(output->detach());
}

JitState::Call JitState::begin(const JitParts& arguments, const void* signature) {
  for (usize i = 0; i < arguments.tensors.size(); ++i) {
    const Tensor& argument = *arguments.tensors[i];
    if (!argument.defined() || NoGradScope::active() || !Access::cell(argument).tracked) continue;
    throw fail(
        ErrorKind::Invalid,
        "argument {} of a jitted function was computed from marked tensors, and gradients do "
        "not flow into the function; detach it",
        i);
  }
  // What is replayed looks at no index.
  if (core::config().check_index) return {Step::Plain, 0};
  // The last one first: most calls are alike.
  for (usize i = 0; i < graphs_.size(); ++i) {
    const usize at = (last_ + i) % graphs_.size();
    if (!graphs_[at]->fits(arguments, signature)) continue;
    last_ = at;
    return {graphs_[at]->program ? Step::Replay : Step::Capture, at};
  }
  if (graphs_.size() >= max_graphs_) throw too_many(arguments, signature);
  return {Step::Plain, graphs_.size(),
          std::make_shared<JitGraph>(signature, arguments.lengths, forms_of(arguments))};
}

// Against the graph that was used last.
Error JitState::too_many(const JitParts& arguments, const void* signature) const {
  const JitGraph& last = *graphs_[last_];
  std::string rest;
  if (max_graphs_ > 1)
    rest = fmt::format(
        "; these are more than {} combinations of shapes and dtypes: pad to fewer, pass a bound "
        "size, or raise max_graphs",
        max_graphs_);
  if (signature != last.signature)
    return fail(ErrorKind::Invalid,
                "a jitted function is called with other types than it was captured with{}", rest);
  if (arguments.lengths != last.lengths || arguments.tensors.size() != last.forms.size())
    return fail(ErrorKind::Invalid,
                "a jitted function is called with {} tensors, or other sizes of vectors, captured "
                "with {}{}",
                arguments.tensors.size(), last.forms.size(), rest);
  const Forms forms = forms_of(arguments);
  for (usize i = 0; i < forms.size(); ++i) {
    const std::optional<Form>&now = forms[i], &then = last.forms[i];
    if (now.has_value() != then.has_value())
      return fail(ErrorKind::Invalid, "argument {} of a jitted function is {}, captured {}{}", i,
                  then ? "not defined" : "a tensor", then ? "as one" : "without", rest);
    if (now && !then->fits(stored_value(*arguments.tensors[i])))
      return fail(ErrorKind::Invalid, "argument {} of a jitted function is {}, captured with {}{}",
                  i, now->str(), then->str(), rest);
  }
  return fail(ErrorKind::Internal, "arguments that are those of a capture");
}

void JitState::end_plain(const Call& call, const JitParts& outputs) {
  std::vector<Tensor> defined;
  for (const Tensor* output : outputs.tensors)
    if (output->defined()) defined.push_back(*output);
  Tensor::realize(defined);
  for (Tensor* output : outputs.tensors)
    if (output->defined()) *output = settled(*output);
  // The function may have called itself, or reset this.
  if (call.fresh != nullptr && graphs_.size() < max_graphs_) {
    graphs_.push_back(call.fresh);
    last_ = graphs_.size() - 1;
  }
}

JitOutputs JitState::replay(usize graph, const JitParts& arguments) {
  JitOutputs outputs;
  graphs_[graph]->program->replay(tensors_of(arguments), sizes_of(arguments), &outputs);
  return outputs;
}

void JitState::reset() {
  graphs_.clear();
  last_ = 0;
}

usize JitState::graph_count() const {
  usize count = 0;
  for (const std::shared_ptr<JitGraph>& graph : graphs_) count += graph->program != nullptr;
  return count;
}

const std::any& JitState::outputs(usize graph) const { return graphs_[graph]->outputs; }

std::any& JitCall::outputs() { return graph_->outputs; }

// Of the last one that is captured, if it is not the one used last; null: none is.
const JitProgram* JitState::last_program() const {
  for (usize i = graphs_.size(); i > 0; --i) {
    const JitGraph& graph = *graphs_[(last_ + i) % graphs_.size()];
    if (graph.program) return graph.program.get();
  }
  return nullptr;
}

usize JitState::launches() const {
  const JitProgram* program = last_program();
  return program == nullptr ? 0 : program->launches();
}
ExportedFunction JitState::exported(const ExportOptions& options) const {
  const JitProgram* program = last_program();
  if (program == nullptr)
    throw fail(ErrorKind::Invalid,
               "export of a jitted function that is not captured yet: the second call does that");
  return program->exported(options);
}
void JitState::export_c(const ExportOptions& options) const {
  detail::export_c(exported(options), options);
}
void JitState::export_wgsl(const ExportOptions& options) const {
  detail::export_wgsl(exported(options), options);
}
// The program continues even if this fails; the folder then has the reason.
void JitState::export_if_asked() const {
  std::string folder = core::config().export_folder;
  if (folder.empty()) return;
  const bool as_wgsl = folder.starts_with(kExportAsWgsl);
  if (as_wgsl) folder.erase(0, kExportAsWgsl.size());
  static constinit std::atomic<int> count{0};
  const int number = count.fetch_add(1, std::memory_order_relaxed);
  const ExportOptions options{.folder = folder,
                              .name = name.empty() ? fmt::format("function{}", number) : name};
  try {
    as_wgsl ? export_wgsl(options) : export_c(options);
  } catch (const Error& error) {
    export_refused(options, error.message);
  }
}

i64 JitState::arena_bytes() const {
  const JitProgram* program = last_program();
  return program == nullptr ? 0 : program->arena_bytes();
}

JitCall::JitCall(JitState& state, usize graph, const JitParts& arguments)
    : state_(state), graph_(state.graphs_[graph]) {
  if (graph_->program) graph_->program->check(tensors_of(arguments), sizes_of(arguments));
  capture_ = std::make_unique<Capture>(tensors_of(arguments), sizes_of(arguments));
  for (usize i = 0; i < arguments.tensors.size(); ++i)
    *arguments.tensors[i] = capture_->stand_ins()[i];
}

JitCall::~JitCall() = default;

void JitCall::finish(const JitParts& outputs) {
  std::unique_ptr<JitProgram> program =
      capture_->finish({outputs.tensors.data(), outputs.tensors.size()});
  JitGraph& own = *graph_;
  if (own.program) {
    const std::string difference = own.program->difference(*program);
    if (difference.empty()) return;
    throw fail(
        ErrorKind::Invalid,
        "a jitted function does not do what it did when it was captured: {}. What it depends "
        "on besides tensors has changed; pass it as a tensor or a bound size",
        difference);
  }
  own.program = std::move(program);
  state_.export_if_asked();
}

Tensor jit_blank() { return Tensor::full({}, 0); }

}  // namespace doorbell::detail
