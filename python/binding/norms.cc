// Norms: layers that keep the shape. For other layers see layers.cc.
#include "python/binding/layers.h"

namespace doorbell::python {

namespace {

void define_batch_norm(nb::module_& module) {
  auto norm = define_layer<nn::BatchNorm>(
      module, "BatchNorm",
      "Over axis 1. In a training scope the statistics are the batch's, and the running ones "
      "follow.\n\n>>> nn.BatchNorm(2)(Tensor.ones(4, 2)).shape\n(4, 2)",
      [](const nn::BatchNorm& layer) {
        nb::dict arguments;
        arguments["num_features"] = layer.features;
        arguments["eps"] = layer.options.eps;
        arguments["momentum"] = layer.options.momentum;
        arguments["affine"] = layer.options.affine;
        arguments["track_running_stats"] = layer.options.track_running_stats;
        return arguments;
      });
  const char* names[] = {"num_features", "sz"};
  const char* signatures[] = {
      "def __init__(self, num_features: int, eps: float = 1e-05, momentum: float = 0.1, affine: "
      "bool = True, track_running_stats: bool = True, device: str | None = None) -> None",
      "def __init__(self, sz: int, eps: float = 1e-05, momentum: float = 0.1, affine: bool = True, "
      "track_running_stats: bool = True, device: str | None = None) -> None"};
  for (int i = 0; i < 2; ++i)
    norm.def(
        "__init__",
        [](nn::BatchNorm* self, i64 features, f64 eps, f64 momentum, bool affine, bool track,
           const DevicesArg& device) {
          new (self) nn::BatchNorm(features, {.eps = eps,
                                              .momentum = momentum,
                                              .affine = affine,
                                              .track_running_stats = track,
                                              .device = device.joined()});
        },
        nb::arg(names[i]), nb::arg("eps") = 1e-5, nb::arg("momentum") = 0.1,
        nb::arg("affine") = true, nb::arg("track_running_stats") = true,
        nb::arg("device").none() = nb::none(), nb::sig(signatures[i]));
  tensor_attribute(norm, "weight", &nn::BatchNorm::weight);
  tensor_attribute(norm, "bias", &nn::BatchNorm::bias);
  tensor_attribute(norm, "running_mean", &nn::BatchNorm::running_mean);
  tensor_attribute(norm, "running_var", &nn::BatchNorm::running_var);
  tensor_attribute(norm, "num_batches_tracked", &nn::BatchNorm::num_batches_tracked);
}

void define_layer_norms(nb::module_& module) {
  auto norm = define_layer<nn::LayerNorm>(
      module, "LayerNorm",
      "Over the last axes, which have this shape.\n\n"
      ">>> nn.LayerNorm(2)(Tensor([[1.0, 2.0]]))\ntensor([[-1.0000,  1.0000]])",
      [](const nn::LayerNorm& layer) {
        nb::dict arguments;
        arguments["normalized_shape"] = to_python(layer.shape);
        arguments["eps"] = layer.options.eps;
        arguments["elementwise_affine"] = layer.options.elementwise_affine;
        arguments["bias"] = layer.options.bias;
        return arguments;
      });
  norm.def(
      "__init__",
      [](nn::LayerNorm* self, const ShapeArg& shape, f64 eps, bool affine, bool bias,
         const DevicesArg& device) {
        new (self) nn::LayerNorm(
            shape,
            {.eps = eps, .elementwise_affine = affine, .bias = bias, .device = device.joined()});
      },
      nb::arg("normalized_shape"), nb::arg("eps") = 1e-5, nb::arg("elementwise_affine") = true,
      nb::arg("bias") = true, nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, normalized_shape: int | collections.abc.Sequence[int], eps: "
              "float = 1e-05, elementwise_affine: bool = True, bias: bool = True, device: str "
              "| None = None) -> None"));
  tensor_attribute(norm, "weight", &nn::LayerNorm::weight);
  tensor_attribute(norm, "bias", &nn::LayerNorm::bias);
  auto flat = define_layer<nn::LayerNorm2d>(
      module, "LayerNorm2d",
      "Over the channels (axis 1) of images, at every place by itself.\n\n"
      ">>> nn.LayerNorm2d(3)(Tensor.ones(1, 3, 2, 2)).shape\n(1, 3, 2, 2)",
      [](const nn::LayerNorm2d& layer) {
        nb::dict arguments;
        arguments["num_channels"] = layer.shape[0].value();
        arguments["eps"] = layer.options.eps;
        arguments["elementwise_affine"] = layer.options.elementwise_affine;
        return arguments;
      });
  flat.def(
      "__init__",
      [](nn::LayerNorm2d* self, i64 channels, f64 eps, bool affine) {
        new (self) nn::LayerNorm2d(channels, {.eps = eps, .elementwise_affine = affine});
      },
      nb::arg("num_channels"), nb::arg("eps") = 1e-5, nb::arg("elementwise_affine") = true);
  tensor_attribute(flat, "weight", static_cast<Tensor nn::LayerNorm2d::*>(&nn::LayerNorm::weight));
  tensor_attribute(flat, "bias", static_cast<Tensor nn::LayerNorm2d::*>(&nn::LayerNorm::bias));
}

// A tensor of the group norm that an instance norm is.
void norm_attribute(nb::class_<nn::InstanceNorm>& type, const char* name,
                    Tensor nn::GroupNorm::* member) {
  const std::string head = std::string("def ") + name;
  type.def_prop_rw(
      name, [member](const nn::InstanceNorm& self) { return to_python(self.norm.*member); },
      [member](nn::InstanceNorm& self, const MaybeTensor& given) {
        self.norm.*member = given.tensor;
      },
      nb::for_setter(nb::arg("tensor").none()),
      nb::for_getter(nb::sig(kept(head + "(self) -> Tensor"))),
      nb::for_setter(nb::sig(kept(head + "(self, tensor: Tensor | None, /) -> None"))));
}

void define_group_norms(nb::module_& module) {
  auto group = define_layer<nn::GroupNorm>(
      module, "GroupNorm",
      "Channels (axis 1) in groups.\n\n>>> nn.GroupNorm(1, 2)(Tensor([[1.0, 2.0]]))\n"
      "tensor([[-1.0000,  1.0000]])",
      [](const nn::GroupNorm& layer) {
        nb::dict arguments;
        arguments["num_groups"] = layer.groups;
        arguments["num_channels"] = layer.channels;
        arguments["eps"] = layer.options.eps;
        arguments["affine"] = layer.options.affine;
        return arguments;
      });
  group.def(
      "__init__",
      [](nn::GroupNorm* self, i64 groups, i64 channels, f64 eps, bool affine,
         const DevicesArg& device) {
        new (self) nn::GroupNorm(groups, channels,
                                 {.eps = eps, .affine = affine, .device = device.joined()});
      },
      nb::arg("num_groups"), nb::arg("num_channels"), nb::arg("eps") = 1e-5,
      nb::arg("affine") = true, nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, "
              "affine: bool = True, device: str | None = None) -> None"));
  tensor_attribute(group, "weight", &nn::GroupNorm::weight);
  tensor_attribute(group, "bias", &nn::GroupNorm::bias);
  auto instance = define_layer<nn::InstanceNorm>(
      module, "InstanceNorm",
      "Each channel (axis 1) of each element by itself.\n\n"
      ">>> nn.InstanceNorm(2)(Tensor.ones(1, 2, 3)).shape\n(1, 2, 3)",
      [](const nn::InstanceNorm& layer) {
        nb::dict arguments;
        arguments["num_features"] = layer.norm.channels;
        arguments["eps"] = layer.norm.options.eps;
        arguments["affine"] = layer.norm.options.affine;
        return arguments;
      });
  instance.def(
      "__init__",
      [](nn::InstanceNorm* self, i64 channels, f64 eps, bool affine) {
        new (self) nn::InstanceNorm(channels, {.eps = eps, .affine = affine});
      },
      nb::arg("num_features"), nb::arg("eps") = 1e-5, nb::arg("affine") = false);
  norm_attribute(instance, "weight", &nn::GroupNorm::weight);
  norm_attribute(instance, "bias", &nn::GroupNorm::bias);
}

void define_rms_norm(nb::module_& module) {
  auto norm = define_layer<nn::RMSNorm>(
      module, "RMSNorm",
      "Over the last axes, which have this shape: x by the root of the mean of its squares.\n\n"
      ">>> nn.RMSNorm(2)(Tensor([[1.0, 2.0]]))\ntensor([[0.6325, 1.2649]])",
      [](const nn::RMSNorm& layer) {
        nb::dict arguments;
        arguments["normalized_shape"] = to_python(layer.shape);
        arguments["eps"] = layer.options.eps ? nb::cast(*layer.options.eps) : nb::none();
        arguments["elementwise_affine"] = layer.options.elementwise_affine;
        return arguments;
      });
  norm.def(
      "__init__",
      [](nn::RMSNorm* self, const ShapeArg& shape, std::optional<f64> eps, bool affine,
         const DevicesArg& device) {
        new (self) nn::RMSNorm(
            shape, {.eps = eps, .elementwise_affine = affine, .device = device.joined()});
      },
      nb::arg("normalized_shape"), nb::arg("eps").none() = nb::none(),
      nb::arg("elementwise_affine") = true, nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, normalized_shape: int | collections.abc.Sequence[int], eps: "
              "float | None = None, elementwise_affine: bool = True, device: str | None = "
              "None) -> None"));
  tensor_attribute(norm, "weight", &nn::RMSNorm::weight);
}

}  // namespace

void define_norms(nb::module_& module) {
  define_batch_norm(module);
  define_layer_norms(module);
  define_group_norms(module);
  define_rms_norm(module);
}

}  // namespace doorbell::python
