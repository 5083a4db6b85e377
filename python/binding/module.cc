// The module doorbell._doorbell: all parts, in the order in which they need each other. What users
// import is the package around it.
#include "python/binding/module.h"

#include <nanobind/nanobind.h>

NB_MODULE(_doorbell, module) {
  using namespace doorbell::python;  // NOLINT(google-build-using-namespace)
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
}
