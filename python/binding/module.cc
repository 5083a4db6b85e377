// The module doorbell._doorbell: all parts, in the order of their dependencies. Users import the
// package around it.
#include "python/binding/module.h"

#include <nanobind/nanobind.h>

#include "codegen/compile/exit_gate.h"
#include "python/binding/distributed.h"
#include "python/binding/function.h"

NB_MODULE(_doorbell, module) {
  using namespace doorbell::python;  // NOLINT(google-build-using-namespace)
  nb::set_leak_warnings(false);      // a script may still hold objects when it ends
  module.doc() = "The compiled part of doorbell.";
  define_errors(module);
  define_dtypes(module);
  define_sizes(module);
  TensorClass tensor = define_tensor(module);
  define_operators(tensor);
  define_indexing(tensor);
  define_surface(tensor);
  define_scopes(module);
  define_devices(module);
  define_distributed(module);
  define_jit(module);
  define_layers(module);
  define_norms(module);
  define_recurrent_layers(module);
  define_attention(module);
  define_clipping(module);
  define_optimizers(module);
  define_files(module);
  define_printing(module);
  spell_all(module);
  // Threads that are daemons may still compute; after this, none compiles.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(
      [] { doorbell::codegen::close_exit_gate(); }, nb::call_guard<nb::gil_scoped_release>()));
}
