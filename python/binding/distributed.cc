// tensor/dist as functions of the module, for the package doorbell.distributed, which has PyTorch's
// names for them.
#include "python/binding/distributed.h"

#include <nanobind/nanobind.h>

#include "tensor/dist/dist.h"
#include "tensor/dist/mesh.h"

namespace doorbell::python {

namespace {

dist::ReduceOp op_of(std::string_view name) {
  constexpr std::pair<std::string_view, dist::ReduceOp> kOps[] = {
      {"sum", dist::ReduceOp::Sum},
      {"avg", dist::ReduceOp::Mean},
      {"product", dist::ReduceOp::Product},
      {"max", dist::ReduceOp::Max},
      {"min", dist::ReduceOp::Min}};
  for (const auto& [known, op] : kOps)
    if (known == name) return op;
  throw fail(ErrorKind::Invalid, "reduction '{}', expected sum, avg, product, max or min", name);
}

// "R", "P", or the axis of a Shard: mesh.py has the classes.
dist::MeshPlacements placements_from(const std::vector<std::string>& names) {
  dist::MeshPlacements placements;
  for (const std::string& name : names)
    placements.push_back(name == "R"   ? dist::Replicate()
                         : name == "P" ? dist::Partial()
                                       : dist::Shard(std::stoll(name)));
  return placements;
}

std::vector<std::string> names_of(const dist::MeshPlacements& placements) {
  std::vector<std::string> names;
  for (const dist::MeshPlacement& one : placements)
    names.push_back(one == dist::Replicate() ? "R" : std::to_string(one.dim));
  return names;
}

}  // namespace

void define_distributed(nb::module_& module) {
  module.def(
      "_dist_init", [](f64 timeout_s) { dist::init({.timeout_s = timeout_s}); },
      nb::arg("timeout_s"), nb::call_guard<Unlocked>());
  module.def("_dist_is_initialized", &dist::is_initialized);
  module.def("_dist_destroy", &dist::destroy, nb::call_guard<Unlocked>());
  module.def("_dist_rank", &dist::rank);
  module.def("_dist_world_size", &dist::world_size);
  module.def("_dist_local_rank", &dist::local_rank);
  module.def(
      "_dist_devices", [](std::string_view device) { return dist::devices(device).names(); },
      nb::arg("device"));
  module.def("_dist_barrier", &dist::barrier, nb::call_guard<Unlocked>());
  module.def(
      "_dist_from_local",
      [](const Tensor& x, const DevicesArg& on, i64 axis) { return dist::from_local(x, on, axis); },
      nb::arg("x"), nb::arg("on"), nb::arg("axis"));
  module.def("_dist_distribute", [](const Tensor& x, const DevicesArg& on, std::vector<i64> shape,
                                    const std::vector<std::string>& placements) {
    return dist::distribute_tensor(x, {on, std::move(shape)}, placements_from(placements));
  });
  module.def("_dist_distribute_", [](Tensor& x, const DevicesArg& on, std::vector<i64> shape,
                                     const std::vector<std::string>& placements) {
    dist::distribute_tensor_(x, {on, std::move(shape)}, placements_from(placements));
  });
  module.def("_dist_placements", [](const Tensor& x, const DevicesArg& on, std::vector<i64> shape) {
    return names_of(dist::placements_of(x, {on, std::move(shape)}));
  });
  module.def("_dist_from_local_mesh",
             [](const Tensor& x, const DevicesArg& on, std::vector<i64> shape,
                const std::vector<std::string>& placements) {
               return dist::from_local(x, {on, std::move(shape)}, placements_from(placements));
             });
  module.def("_dist_to_local", &dist::to_local, nb::arg("x"));
  module.def(
      "_dist_all_reduce",
      [](const Tensor& x, std::string_view op) { return dist::all_reduce(x, op_of(op)); },
      nb::arg("x"), nb::arg("op"));
  module.def("_dist_all_gather", &dist::all_gather, nb::arg("x"));
  module.def(
      "_dist_reduce_scatter",
      [](const Tensor& x, std::string_view op) { return dist::reduce_scatter(x, op_of(op)); },
      nb::arg("x"), nb::arg("op"));
  module.def("_dist_all_to_all", &dist::all_to_all, nb::arg("x"));
  module.def("_dist_broadcast", &dist::broadcast, nb::arg("x"), nb::arg("src"));
  module.def("_dist_send", &dist::send, nb::arg("x"), nb::arg("dst"), nb::call_guard<Unlocked>());
  module.def(
      "_dist_recv",
      [](const Tensor& like, int src) {
        return dist::recv(like.shape(), src, {.dtype = like.dtype(), .device = like.device()});
      },
      nb::arg("like"), nb::arg("src"), nb::call_guard<Unlocked>());
}

}  // namespace doorbell::python
