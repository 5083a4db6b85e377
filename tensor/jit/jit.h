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
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/api/tensor.h"
#include "tensor/export/export.h"
#include "tensor/nn/module.h"

namespace doorbell {
namespace detail {

class JitProgram;
struct JitGraph;  // what was recorded for one combination of shapes and dtypes

// The tensors and sizes within a value, in a fixed order, and what else tells two values apart.
struct JitParts {
  absl::InlinedVector<Tensor*, 8> tensors;
  absl::InlinedVector<Size, 2> sizes;
  absl::InlinedVector<usize, 8> lengths;  // of vectors
};

// Inlined, because a call costs less than a few allocations.
using JitOutputs = absl::InlinedVector<Tensor, 4>;

template <class T>
concept Visitable = requires(T& value, nn::Visitor& visitor) { value.visit(visitor); };

template <class T>
struct JitWalk {
  static constexpr bool kKnown = Visitable<T>;
  static void walk(T& value, JitParts& parts) {
    nn::Visitor visitor(
        [&](const std::string&, Tensor& tensor) { parts.tensors.push_back(&tensor); });
    const usize before = parts.tensors.size();
    value.visit(visitor);
    parts.lengths.push_back(parts.tensors.size() - before);
  }
};
template <>
struct JitWalk<Tensor> {
  static constexpr bool kKnown = true;
  static void walk(Tensor& value, JitParts& parts) { parts.tensors.push_back(&value); }
};
template <>
struct JitWalk<Size> {
  static constexpr bool kKnown = true;
  static void walk(Size& value, JitParts& parts) { parts.sizes.push_back(value); }
};
template <class T>
struct JitWalk<std::vector<T>> {
  static constexpr bool kKnown = JitWalk<T>::kKnown;
  static void walk(std::vector<T>& value, JitParts& parts) {
    parts.lengths.push_back(value.size());
    for (T& item : value) JitWalk<T>::walk(item, parts);
  }
};
template <class T, usize N>
struct JitWalk<std::array<T, N>> {
  static constexpr bool kKnown = JitWalk<T>::kKnown;
  static void walk(std::array<T, N>& value, JitParts& parts) {
    for (T& item : value) JitWalk<T>::walk(item, parts);
  }
};
template <class... T>
struct JitWalk<std::tuple<T...>> {
  static constexpr bool kKnown = (JitWalk<T>::kKnown && ...);
  static void walk(std::tuple<T...>& value, JitParts& parts) {
    std::apply([&](T&... item) { (JitWalk<T>::walk(item, parts), ...); }, value);
  }
};
template <class A, class B>
struct JitWalk<std::pair<A, B>> {
  static constexpr bool kKnown = JitWalk<A>::kKnown && JitWalk<B>::kKnown;
  static void walk(std::pair<A, B>& value, JitParts& parts) {
    JitWalk<A>::walk(value.first, parts);
    JitWalk<B>::walk(value.second, parts);
  }
};

// Values, and what x[...] gives as the tensor that it is.
template <class T>
using JitValue =
    std::conditional_t<std::is_base_of_v<Tensor, std::decay_t<T>>, Tensor, std::decay_t<T>>;
struct JitNothing {};
template <>
struct JitWalk<JitNothing> {
  static constexpr bool kKnown = true;
  static void walk(JitNothing&, JitParts&) {}
};
template <class T>
using JitResult = std::conditional_t<std::is_void_v<T>, JitNothing, JitValue<T>>;

template <class... T>
inline constexpr char kJitSignature = 0;  // its address tells signatures apart

// What does not depend on the types of the function.
class JitState {
 public:
  enum class Step : u8 { Plain, Capture, Replay };
  struct Call {
    Step step;
    usize graph;  // its number, of those that there are
    // Of a plain call with a combination that is new: counts when it has succeeded. None where
    // nothing is to be captured. Shared, because a header cannot destroy what it does not know.
    std::shared_ptr<JitGraph> fresh{};
  };

  explicit JitState(usize max_graphs);
  ~JitState();
  // A capture is open on this thread: the call is a part of it.
  static bool is_nested();
  // The outputs of such a call are new handles too.
  static void end_nested(const JitParts& outputs);
  // Which graph the arguments are for. Throws where that would be one too many.
  Call begin(const JitParts& arguments, const void* signature);
  // After a plain call: outputs as all later calls give them.
  void end_plain(const Call& call, const JitParts& outputs);
  JitOutputs replay(usize graph, const JitParts& arguments);
  void reset();
  bool is_captured() const { return graph_count() != 0; }
  usize graph_count() const;
  // Of the graph that was used last.
  usize launches() const;
  i64 arena_bytes() const;
  void export_c(const ExportOptions& options) const;

  // Where the process was asked to export what it captures (setting EXPORT).
  void export_if_asked() const;

  // The result with tensors that mean nothing, to be filled by each replay.
  const std::any& outputs(usize graph) const;

  std::string name;            // JitOptions'
  std::recursive_mutex mutex;  // a function may call itself

 private:
  friend class JitCall;
  const JitProgram* last_program() const;
  Error too_many(const JitParts& arguments, const void* signature) const;

  const usize max_graphs_;
  std::vector<std::shared_ptr<JitGraph>> graphs_;
  usize last_ = 0;  // used last
};

// The second call, or one that is compared with it. The arguments' tensors are replaced by
// stand-ins until it is over.
class Capture;
class JitCall {
 public:
  JitCall(JitState& state, usize graph, const JitParts& arguments);
  ~JitCall();
  // Keeps what was captured, or where there is a capture compares the two.
  void finish(const JitParts& outputs);
  std::any& outputs();  // as JitState's

 private:
  JitState& state_;
  const std::shared_ptr<JitGraph> graph_;  // the function may reset what it is a part of
  std::unique_ptr<Capture> capture_;
};

// A tensor without memory, for JitState::outputs.
Tensor jit_blank();

}  // namespace detail

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
