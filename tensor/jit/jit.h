// jit(f): a function of tensors that is recorded once and then replayed as queues prepared
// beforehand.
//
//   auto step = jit([&](const Tensor& x, const Tensor& y) { ... return loss; });
//
// The first call runs f plainly, the second runs and records it, and all later calls only launch
// what was recorded: f itself is not called again. Arguments of other shapes, dtypes or devices, a
// shorter last batch, are recorded by themselves in the same way, up to JitOptions::max_graphs.
// What that means for arguments, for tensors that f refers to, for random numbers and for plain C++
// values: see docs/api.md. For recording see capture.h, for replaying engine/replay.h.
//
// Thread safety: calls of one jitted function go one after another; different ones may be called
// at once by different threads, as far as they change no tensor that the other uses.
#pragma once

#include <any>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tensor/api/tensor.h"
#include "tensor/export/export.h"
#include "tensor/jit/jit_parts.h"
#include "tensor/jit/jit_state.h"

namespace doorbell {

struct JitOptions {
  // Later calls run the function too, record it again and throw where it does not do what it did
  // when it was captured: because a plain C++ value has changed, say. For finding mistakes.
  bool check = false;
  // What it is called where it is exported by `doorbell export`; a C identifier. Not given:
  // function0, function1, ... in the order of capture.
  std::string name{};
  // Combinations of shapes, dtypes and devices that are recorded; the next one is an error. 1: the
  // arguments always have to be as those of the capture.
  usize max_graphs = 16;
};

// What jit() gives: it is called as the function is. Arguments that do not match those of the
// capture throw Error, and so does what a captured function must not do. A copy is captured anew.
template <class F>
class Jit {
 public:
  explicit Jit(F function, const JitOptions& options = {})
      : function_(std::move(function)),
        options_(options),
        state_(std::make_unique<detail::JitState>(options.max_graphs)) {
    state_->name = options.name;
  }
  Jit(const Jit& other) : Jit(other.function_, other.options_) {}
  Jit& operator=(const Jit& other) { return *this = Jit(other); }
  Jit(Jit&&) noexcept = default;
  Jit& operator=(Jit&&) noexcept = default;

  template <class... Args>
  auto operator()(const Args&... args) {
    using Raw = std::invoke_result_t<F&, const detail::JitValue<Args>&...>;
    using Result = detail::JitResult<Raw>;
    using Values = std::tuple<detail::JitValue<Args>...>;
    static_assert(detail::JitWalk<Values>::kKnown,
                  "a jitted function takes tensors, bound sizes, vectors, tuples and structs with "
                  "visit() of them; any other value would stay what it was when it was captured");
    static_assert(detail::JitWalk<Result>::kKnown,
                  "a jitted function returns tensors, and vectors, tuples and structs with visit() "
                  "of them; any other value would stay what it was when it was captured");
    Values values(args...);
    Result result = run<Result>(values);
    if constexpr (std::is_void_v<Raw>) {
      (void)result;
    } else {
      return result;
    }
  }

  // Forgets what was captured: the next call is a first call.
  void reset() {
    std::lock_guard lock(state_->mutex);
    state_->reset();
  }
  bool is_captured() const { return state_->is_captured(); }
  // How many combinations of shapes and dtypes are captured.
  usize graph_count() const { return state_->graph_count(); }
  // Of one replay as the last one: kernels and copies, and the memory kept for what lives only
  // within it.
  usize launches() const { return state_->launches(); }
  i64 arena_bytes() const { return state_->arena_bytes(); }
  // Writes what was captured, for the shapes that were used last, as C: see tensor/export/export.h.
  // Throws Error before it is captured, and for what C cannot do: random numbers, gradients that
  // stay, results of symbolic shapes.
  void export_c(const ExportOptions& options) const {
    std::lock_guard lock(state_->mutex);
    state_->export_c(options);
  }
  // The same as a module in JavaScript with kernels in WGSL, for browsers, with a page and weights.
  // The function may have run on any device.
  void export_wgsl(const ExportOptions& options) const {
    std::lock_guard lock(state_->mutex);
    state_->export_wgsl(options);
  }

 private:
  template <class T>
  static detail::JitParts parts_of(T& value) {
    detail::JitParts parts;
    detail::JitWalk<T>::walk(value, parts);
    return parts;
  }

  template <class Result, class Values>
  Result call(const Values& values) {
    return std::apply(
        [&](const auto&... value) -> Result {
          if constexpr (std::is_same_v<Result, detail::JitNothing>) {
            function_(value...);
            return {};
          } else {
            return function_(value...);
          }
        },
        values);
  }

  template <class Result, class Values>
  Result run(Values& values) {
    using Step = detail::JitState::Step;
    if (detail::JitState::is_nested()) {
      Result result = call<Result>(values);
      detail::JitState::end_nested(parts_of(result));
      return result;
    }
    std::lock_guard lock(state_->mutex);
    const detail::JitParts arguments = parts_of(values);
    const void* signature = &detail::kJitSignature<Values, Result>;
    const detail::JitState::Call now = state_->begin(arguments, signature);
    if (now.step == Step::Replay && !options_.check) {
      Result result = *std::any_cast<Result>(&state_->outputs(now.graph));
      detail::JitOutputs outputs = state_->replay(now.graph, arguments);
      const detail::JitParts places = parts_of(result);
      for (usize i = 0; i < outputs.size(); ++i) *places.tensors[i] = std::move(outputs[i]);
      return result;
    }
    if (now.step == Step::Plain) {
      Result result = call<Result>(values);
      state_->end_plain(now, parts_of(result));
      return result;
    }
    return captured<Result>(values, arguments, now.graph);
  }

  template <class Result, class Values>
  Result captured(Values& values, const detail::JitParts& arguments, usize graph) {
    detail::JitCall call_now(*state_, graph, arguments);
    Result result = call<Result>(values);
    for (Tensor* stand_in : arguments.tensors) *stand_in = Tensor();
    call_now.finish(parts_of(result));
    Result blank = result;
    for (Tensor* tensor : parts_of(blank).tensors)
      if (tensor->defined()) *tensor = detail::jit_blank();
    call_now.outputs() = std::move(blank);
    return result;
  }

  F function_;
  JitOptions options_;
  std::unique_ptr<detail::JitState> state_;  // it has a mutex, and a Jit can be moved
};

template <class F>
Jit<std::decay_t<F>> jit(F&& function, const JitOptions& options = {}) {
  return Jit<std::decay_t<F>>(std::forward<F>(function), options);
}

}  // namespace doorbell
