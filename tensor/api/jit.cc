// The calls of a jitted function, apart from the function.
#include "tensor/api/jit.h"

#include <fmt/format.h>

#include <atomic>

#include "core/util/config.h"
#include "tensor/api/capture.h"
#include "tensor/engine/realize.h"
#include "tensor/export/function.h"

namespace doorbell::detail {

namespace {

// An untracked tensor of its own with the value, so that no output is a handle of an argument or of
// state, and none leads gradients out of the function.
Tensor settled(const Tensor& tensor) {
  NoGradScope no_grad;
  if (is_always_empty(tensor)) return tensor.detach();
  return Tensor::from_uop(engine::stored_form(*Access::cell(tensor).value));
}

Arguments tensors_of(const JitParts& parts) { return {parts.tensors.data(), parts.tensors.size()}; }

std::span<const Size> sizes_of(const JitParts& parts) {
  return {parts.sizes.data(), parts.sizes.size()};
}

}  // namespace

JitState::JitState() = default;
JitState::~JitState() = default;

bool JitState::is_nested() { return capture != nullptr; }

void JitState::end_nested(const JitParts& outputs) {
  for (Tensor* output : outputs.tensors)
    if (output->defined()) *output = output->detach();
}

JitState::Step JitState::begin(const JitParts& arguments, const void* signature) {
  for (usize i = 0; i < arguments.tensors.size(); ++i) {
    const Tensor& argument = *arguments.tensors[i];
    if (!argument.defined() || NoGradScope::active() || !Access::cell(argument).tracked) continue;
    throw fail(
        ErrorKind::Invalid,
        "argument {} of a jitted function was computed from marked tensors, and gradients do "
        "not flow into the function; detach it",
        i);
  }
  if (!program_) return was_called_ ? Step::Capture : Step::Plain;
  if (signature != signature_)
    throw fail(ErrorKind::Invalid,
               "a jitted function is called with other types than it was captured with");
  if (arguments.lengths != lengths_)
    throw fail(ErrorKind::Invalid,
               "a jitted function is called with {} tensors, or other sizes of vectors, captured "
               "with {}",
               arguments.tensors.size(), program_->argument_count());
  return Step::Replay;
}

void JitState::end_plain(const JitParts& outputs) {
  std::vector<Tensor> defined;
  for (const Tensor* output : outputs.tensors)
    if (output->defined()) defined.push_back(*output);
  Tensor::realize(defined);
  for (Tensor* output : outputs.tensors)
    if (output->defined()) *output = settled(*output);
  was_called_ = true;
}

JitOutputs JitState::replay(const JitParts& arguments) {
  JitOutputs outputs;
  program_->replay(tensors_of(arguments), sizes_of(arguments), &outputs);
  return outputs;
}

void JitState::reset() {
  program_.reset();
  signature_ = nullptr;
  outputs.reset();
  was_called_ = false;
}

usize JitState::launches() const { return program_ ? program_->launches() : 0; }
void JitState::export_c(const ExportOptions& options) const {
  if (!program_)
    throw fail(ErrorKind::Invalid,
               "export of a jitted function that is not captured yet: the second call does that");
  detail::export_c(program_->exported(options), options);
}
// The program goes on whatever comes of it; whoever asked finds the reason in the folder.
void JitState::export_if_asked() const {
  const std::string& folder = core::config().export_folder;
  if (folder.empty()) return;
  static constinit std::atomic<int> count{0};
  const int number = count.fetch_add(1, std::memory_order_relaxed);
  const ExportOptions options{.folder = folder,
                              .name = name.empty() ? fmt::format("function{}", number) : name};
  try {
    export_c(options);
  } catch (const Error& error) {
    export_refused(options, error.message);
  }
}

i64 JitState::arena_bytes() const { return program_ ? program_->arena_bytes() : 0; }

JitCall::JitCall(JitState& state, const JitParts& arguments, const void* signature)
    : state_(state), signature_(signature), lengths_(arguments.lengths) {
  if (state.program_) state.program_->check(tensors_of(arguments), sizes_of(arguments));
  capture_ = std::make_unique<Capture>(tensors_of(arguments), sizes_of(arguments));
  for (usize i = 0; i < arguments.tensors.size(); ++i)
    *arguments.tensors[i] = capture_->stand_ins()[i];
}

JitCall::~JitCall() = default;

void JitCall::finish(const JitParts& outputs) {
  std::unique_ptr<JitProgram> program =
      capture_->finish({outputs.tensors.data(), outputs.tensors.size()});
  if (state_.program_) {
    const std::string difference = state_.program_->difference(*program);
    if (difference.empty()) return;
    throw fail(
        ErrorKind::Invalid,
        "a jitted function does not do what it did when it was captured: {}. What it depends "
        "on besides tensors has changed; pass it as a tensor or a bound size",
        difference);
  }
  state_.program_ = std::move(program);
  state_.signature_ = signature_;
  state_.lengths_ = lengths_;
  state_.export_if_asked();
}

Tensor jit_blank() { return Tensor::full({}, 0); }

}  // namespace doorbell::detail
