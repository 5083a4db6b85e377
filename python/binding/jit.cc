// jit for Python functions: the steps of tensor/jit/jit.h with Python objects instead of C++ types.
// tree.h walks arguments and results.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include "python/binding/module.h"
#include "python/binding/tree.h"
#include "tensor/jit/jit.h"

namespace doorbell::python {

namespace {

detail::JitParts parts_of(Leaves& leaves) {
  detail::JitParts parts;
  for (Tensor& tensor : leaves.tensors) parts.tensors.push_back(&tensor);
  for (const Size& size : leaves.sizes) parts.sizes.push_back(size);
  return parts;
}

class Jit {
 public:
  Jit(nb::object function, bool check, const std::string& name, usize max_graphs)
      : function_(std::move(function)), check_(check), max_graphs_(max_graphs), state_(max_graphs) {
    state_.name = name;
  }

  nb::object call(const nb::args& args, const nb::kwargs& kwargs) {
    if (detail::JitState::is_nested()) return call_nested(args, kwargs);
    Lock lock(state_.mutex);
    Leaves given;
    Tree arguments;
    arguments.kind = Tree::Kind::Tuple;
    arguments.items.push_back(flatten(args, given));
    arguments.items.push_back(flatten(sorted(kwargs), given));
    Structure* structure = structure_of(arguments);
    std::unique_ptr<Structure> fresh;
    if (structure == nullptr) {
      fresh = std::make_unique<Structure>(Structure{arguments});
      structure = fresh.get();
    }
    const detail::JitParts parts = parts_of(given);
    using Step = detail::JitState::Step;
    const detail::JitState::Call now = state_.begin(parts, structure);
    if (fresh) structures_.push_back(std::move(fresh));
    if (now.step == Step::Replay && !check_) return replay(now.graph, parts);
    if (now.step == Step::Plain) return call_plain(args, kwargs, now);
    return capture(*structure, arguments, given, parts, now.graph);
  }

  // For Python's garbage collector: a function may refer to its owner.
  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(function_.ptr());
    return 0;
  }
  void clear() { function_ = nb::none(); }

  void reset() {
    Lock lock(state_.mutex);
    state_.reset();
    structures_.clear();
    results_.clear();
  }
  bool is_captured() const { return state_.is_captured(); }
  usize graphs() const { return state_.graph_count(); }
  usize max_graphs() const { return max_graphs_; }
  usize launches() const { return state_.launches(); }
  i64 arena_bytes() const { return state_.arena_bytes(); }
  nb::object function() const { return function_; }
  bool checks() const { return check_; }
  const std::string& name() const { return state_.name; }

  template <void (detail::JitState::*write)(const ExportOptions&) const>
  void export_as(const std::string& folder, const std::string& name,
                 const std::vector<std::string>& arguments, const std::vector<std::string>& results,
                 const nb::dict& weights) {
    ExportOptions options{
        .folder = folder, .name = name, .arguments = arguments, .results = results};
    for (auto [key, tensor] : weights)
      options.weights.emplace_back(nb::cast<std::string>(key), nb::cast<Tensor>(tensor));
    Lock lock(state_.mutex);
    Unlocked unlocked;
    (state_.*write)(options);
  }

 private:
  // Releases the interpreter's lock while it waits, because the other call needs it.
  class Lock {
   public:
    explicit Lock(std::recursive_mutex& mutex) : mutex_(mutex) {
      if (mutex_.try_lock()) return;
      Unlocked unlocked;
      mutex_.lock();
    }
    ~Lock() { mutex_.unlock(); }

   private:
    std::recursive_mutex& mutex_;
  };

  // The order of keywords does not matter.
  static nb::dict sorted(const nb::kwargs& kwargs) {
    nb::dict result;
    if (kwargs.size() == 0) return result;
    nb::list keys(kwargs.keys());
    keys.attr("sort")();
    for (nb::handle key : keys) result[key] = kwargs[key];
    return result;
  }

  // Arguments without their tensors and sizes.
  struct Structure {
    Tree tree;
    bool is_captured = false;
  };

  static std::string difference_of(const Tree& now, const Tree& then) {
    std::string found = difference(now.items[0], then.items[0], "argument ");
    return found.empty() ? difference(now.items[1], then.items[1], "the keyword arguments") : found;
  }

  // The known structure of these arguments, which identifies the graph; null for a new one. Other
  // values than tensors and sizes must not change.
  Structure* structure_of(const Tree& arguments) {
    for (const std::unique_ptr<Structure>& known : structures_) {
      if (!same_structure(arguments, known->tree)) continue;
      const std::string found = difference_of(arguments, known->tree);
      if (found.empty()) return known.get();
      if (known->is_captured)
        throw fail(ErrorKind::Invalid,
                   "{}; a jitted function keeps what is no tensor and no bound size", found);
      known->tree = arguments;
      return known.get();
    }
    return nullptr;
  }

  // Results as later calls return them.
  Tree flatten_result(nb::handle result, Leaves& leaves) const {
    Tree tree = flatten(result, leaves);
    if (const Tree* constant = first_constant(tree))
      throw nb::type_error(
          fmt::format("a jitted function gave {}, which later calls would not compute again: it "
                      "gives tensors, and lists, tuples and dicts of them",
                      nb::repr(constant->object.type()).c_str())
              .c_str());
    return tree;
  }

  nb::object call_nested(const nb::args& args, const nb::kwargs& kwargs) {
    Leaves outputs;
    const Tree tree = flatten_result(function_(*args, **kwargs), outputs);
    detail::JitState::end_nested(parts_of(outputs));
    return rebuild(tree, outputs);
  }

  nb::object call_plain(const nb::args& args, const nb::kwargs& kwargs,
                        const detail::JitState::Call& now) {
    Leaves outputs;
    const Tree tree = flatten_result(function_(*args, **kwargs), outputs);
    {
      Unlocked unlocked;
      state_.end_plain(now, parts_of(outputs));
    }
    return rebuild(tree, outputs);
  }

  nb::object replay(usize graph, const detail::JitParts& parts) {
    Leaves outputs;
    {
      Unlocked unlocked;
      for (Tensor& output : state_.replay(graph, parts))
        outputs.tensors.push_back(std::move(output));
    }
    return rebuild(results_[graph], outputs);
  }

  nb::object capture(Structure& structure, const Tree& arguments, Leaves& given,
                     const detail::JitParts& parts, usize graph) {
    std::unique_ptr<detail::JitCall> now;
    {
      Unlocked unlocked;
      now = std::make_unique<detail::JitCall>(state_, graph, parts);
    }
    Leaves outputs;
    Tree tree;
    {
      // `given` are stand-ins now, which must not outlive the call.
      const nb::object values = rebuild(arguments, given);
      const auto args = nb::cast<nb::tuple>(values[0]);
      const auto kwargs = nb::cast<nb::dict>(values[1]);
      tree = flatten_result(function_(*args, **kwargs), outputs);
    }
    for (Tensor& stand_in : given.tensors) stand_in = Tensor();
    // Tensors in reference cycles would count as kept.
    nb::module_::import_("gc").attr("collect")();
    {
      Unlocked unlocked;
      now->finish(parts_of(outputs));
    }
    structure.is_captured = true;
    if (results_.size() <= graph) results_.resize(graph + 1);
    results_[graph] = tree;
    return rebuild(tree, outputs);
  }

  nb::object function_;
  const bool check_;
  const usize max_graphs_;
  detail::JitState state_;
  std::vector<std::unique_ptr<Structure>> structures_;  // their addresses identify graphs
  std::vector<Tree> results_;                           // by graph
};

// "<jit of step: 2 graphs, 3 launches in the last>"
std::string text_of_jit(const Jit& jit) {
  const nb::object function = jit.function();
  const nb::object name = nb::getattr(function, "__qualname__", function);
  std::string text = std::string("<jit of ") + nb::str(name).c_str() + ": ";
  if (!jit.is_captured()) return text + "not captured yet>";
  return text +
         fmt::format("{}, {} in the last>",
                     jit.graphs() == 1 ? "1 graph" : fmt::format("{} graphs", jit.graphs()),
                     jit.launches() == 1 ? "1 launch" : fmt::format("{} launches", jit.launches()));
}

int traverse_jit(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return nb::inst_ready(self) ? nb::inst_ptr<Jit>(self)->traverse(visit, arg) : 0;
}

int clear_jit(PyObject* self) {
  nb::inst_ptr<Jit>(self)->clear();
  return 0;
}

PyType_Slot jit_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse_jit)},
                           {Py_tp_clear, reinterpret_cast<void*>(&clear_jit)},
                           {0, nullptr}};

}  // namespace

void define_jit(nb::module_& module) {
  nb::class_<Jit>(module, "Jit", nb::is_weak_referenceable(), nb::type_slots(jit_slots),
                  "A function that is recorded once and then replayed: see doorbell.jit.")
      .def(nb::init<nb::object, bool, const std::string&, usize>(), nb::arg("function"),
           nb::arg("check") = false, nb::arg("name") = "",
           nb::arg("max_graphs") = JitOptions().max_graphs)
      .def("__repr__", &text_of_jit)
      .def("__call__", &Jit::call, nb::arg("args"), nb::arg("kwargs"),
           nb::sig("def __call__(self, *args: object, **kwargs: object) -> typing.Any"))
      .def(
          "__get__",
          [](nb::handle self, nb::handle instance, nb::handle) {
            if (instance.is_none()) return nb::borrow(self);
            return nb::module_::import_("types").attr("MethodType")(self, instance);
          },
          nb::arg("instance").none(), nb::arg("owner").none() = nb::none(),
          nb::sig("def __get__(self, instance: object, owner: object = None) -> typing.Any"))
      .def(
          "__reduce__",
          [](nb::handle self) {
            const Jit& jit = *nb::inst_ptr<Jit>(self);
            return nb::module_::import_("doorbell.pickling")
                .attr("reduce_jit")(self, jit.checks(), jit.name(), jit.max_graphs());
          },
          nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"))
      .def("reset", &Jit::reset, "Forgets what was captured: the next call is a first call.")
      .def_prop_ro("is_captured", &Jit::is_captured)
      .def_prop_ro("graphs", &Jit::graphs,
                   "How many combinations of shapes and dtypes are captured.\n\n"
                   ">>> f = doorbell.jit(lambda x: x * 2)\n"
                   ">>> for size in (4, 4, 3, 3):\n...     y = f(Tensor.ones(size))\n"
                   ">>> f.graphs\n2")
      .def_prop_ro("launches", &Jit::launches,
                   "Kernels and copies of one replay, with the shapes of the last call.")
      .def_prop_ro("arena_bytes", &Jit::arena_bytes,
                   "Bytes of the memory for what lives only within a replay.")
      .def_prop_ro("__wrapped__", &Jit::function, nb::sig("def __wrapped__(self) -> typing.Any"))
      .def_prop_ro("function", &Jit::function, nb::sig("def function(self) -> typing.Any"))
      .def("export_c", &Jit::export_as<&detail::JitState::export_c>, nb::arg("folder"),
           nb::arg("name") = "model", nb::arg("arguments") = nb::list(),
           nb::arg("results") = nb::list(), nb::arg("weights") = nb::dict(),
           nb::sig("def export_c(self, folder: str, name: str = 'model', arguments: "
                   "collections.abc.Sequence[str] = (), results: collections.abc.Sequence[str] = "
                   "(), weights: dict[str, Tensor] = {}) -> None"),
           "Writes what was captured as a C header, a static library and its weights, for "
           "programs without Doorbell.\n\nRaises ValueError before it is captured, and "
           "UnsupportedError for what C cannot do.")
      .def("export_wgsl", &Jit::export_as<&detail::JitState::export_wgsl>, nb::arg("folder"),
           nb::arg("name") = "model", nb::arg("arguments") = nb::list(),
           nb::arg("results") = nb::list(), nb::arg("weights") = nb::dict(),
           nb::sig("def export_wgsl(self, folder: str, name: str = 'model', arguments: "
                   "collections.abc.Sequence[str] = (), results: collections.abc.Sequence[str] = "
                   "(), weights: dict[str, Tensor] = {}) -> None"),
           "Writes what was captured, on any device, as a JavaScript module with kernels in WGSL, "
           "a page that calls it and its weights, for browsers with WebGPU.\n\nRaises ValueError "
           "before it is captured, and UnsupportedError for what WGSL cannot do.");
}

}  // namespace doorbell::python
