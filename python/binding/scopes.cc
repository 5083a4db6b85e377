// Scopes as Python's context managers: settings, training, no gradients; and the list of devices.
#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include <memory>

#include "core/device/registry.h"
#include "core/util/config.h"
#include "python/binding/module.h"
#include "runtime/device_table.h"
#include "runtime/runtime.h"
#include "tensor/api/scopes.h"
#include "tensor/engine/realize.h"

namespace doorbell::python {

namespace {

void read_setting(nb::handle value, bool* setting) { *setting = PyObject_IsTrue(value.ptr()) == 1; }
void read_setting(nb::handle value, int* setting) { *setting = nb::cast<int>(nb::int_(value)); }
void read_setting(nb::handle value, std::string* setting) {
  *setting = nb::cast<std::string>(value);
}

// A setting by the name of its environment variable. Throws for an unknown one.
void override_setting(core::Overrides& overrides, std::string_view name, nb::handle value) {
#define SETTING(type, field, default_value, setting, text) \
  if (name == setting) {                                   \
    read_setting(value, &overrides.field.emplace());       \
    return;                                                \
  }
#include "core/util/config.def"
#undef SETTING
  std::string names = "TRAINING, NO_GRAD";
  for (const DeclaredSetting& declared : runtime::device_settings()) {
    if (name == declared.setting.name) {
      overrides.device_settings[std::string(name)] = nb::cast<std::string>(nb::str(value));
      return;
    }
    names += std::string(", ") + declared.setting.name;
  }
#define SETTING(type, field, default_value, setting, text) names += std::string(", ") + setting;
#include "core/util/config.def"
#undef SETTING
  throw nb::value_error(fmt::format("no setting {}, expected one of: {}", name, names).c_str());
}

// Settings for a thread, while the `with` block runs.
class Context {
 public:
  explicit Context(const nb::kwargs& settings) {
    for (auto [key, value] : settings) {
      const std::string name = nb::cast<std::string>(key);
      if (name == "TRAINING")
        training_ = nb::cast<int>(value) != 0;
      else if (name == "NO_GRAD")
        no_grad_ = nb::cast<int>(value) != 0;
      else
        override_setting(overrides_, name,
                         nb::isinstance<nb::bool_>(value)
                             ? nb::object(nb::int_(nb::cast<bool>(value)))
                             : nb::borrow(value));
    }
    Result<void> valid = core::check_ranges(core::overridden({}, overrides_));
    if (valid) valid = runtime::check_device_settings(overrides_.device_settings);
    if (!valid) throw nb::value_error(valid.error().message.c_str());
  }

  void enter() {
    if (entered_) throw nb::value_error("the context is entered already");
    entered_ = true;
    Result<void> started = runtime::initialize();
    if (!started) throw std::move(started).error();
    context_ = std::make_unique<core::Context>(overrides_);
    if (training_) training_scope_ = std::make_unique<TrainingScope>(*training_);
    if (no_grad_) no_grad_scope_ = std::make_unique<NoGradScope>();
  }
  void leave() {
    no_grad_scope_.reset();
    training_scope_.reset();
    context_.reset();
    entered_ = false;
  }

 private:
  core::Overrides overrides_;
  std::optional<bool> training_;
  bool no_grad_ = false, entered_ = false;
  std::unique_ptr<core::Context> context_;
  std::unique_ptr<TrainingScope> training_scope_;
  std::unique_ptr<NoGradScope> no_grad_scope_;
};

}  // namespace

void define_scopes(nb::module_& module) {
  nb::class_<Context>(module, "Context",
                      "Settings, by the names of their environment variables, for this thread and "
                      "a `with` block. TRAINING=1 is\na training scope (dropout drops, batch norm "
                      "learns), NO_GRAD=1 remembers nothing for backward().\n\n"
                      "Raises ValueError for a name that there is not, and for a number out of "
                      "range.\n\n"
                      ">>> with Context(TRAINING=1, NOOPT=1):\n"
                      "...     Tensor.ones(2).dropout(0.0).tolist()\n[1.0, 1.0]")
      .def(
          "__init__",
          [](Context* self, const nb::kwargs& settings) { new (self) Context(settings); },
          nb::sig("def __init__(self, **settings: int | str) -> None"))
      .def(
          "__enter__",
          [](nb::handle self) {
            nb::inst_ptr<Context>(self)->enter();
            return nb::borrow(self);
          },
          nb::sig("def __enter__(self) -> Context"))
      .def(
          "__exit__", [](Context& self, const nb::args&) { self.leave(); },
          nb::sig("def __exit__(self, *exception: object) -> None"));
  module.def("is_training", &TrainingScope::active, "Whether this thread is in a training scope.");
  module.def(
      "is_grad_enabled", [] { return !NoGradScope::active(); },
      "Whether what this thread computes remembers how, for backward().");
}

void define_devices(nb::module_& module) {
  module.def(
      "default_device", [] { return std::string(engine::device().name()); },
      "The device of tensors that name none.");
  module.def("device_names", &runtime::device_names,
             "All kinds of devices that this version knows.");
  module.def(
      "open_device", [](const std::string& name) { return engine::device(name).name(); },
      nb::arg("name"), nb::call_guard<Unlocked>(),
      "Opens a device; its full name. Raises where it does not open, with the reason.");
  module.def(
      "empty_cache",
      [] {
        engine::synchronize();
        for (core::Device* device : core::Registry::instance().open_devices())
          device->allocator().flush();
      },
      nb::call_guard<Unlocked>(),
      "Gives memory that was released and is kept for the next tensor of its size back to the "
      "system, on all devices.\n\n>>> doorbell.empty_cache()");
  module.def(
      "_memory_peak",
      [](const std::string& name) { return engine::device(name).allocator().stats().peak; },
      nb::arg("device"));
  module.def("synchronize", &engine::synchronize, nb::call_guard<Unlocked>(),
             "Waits for all that was launched, on all devices.");
}

}  // namespace doorbell::python
