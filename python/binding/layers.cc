// Layers with weights: linear, convolutions, embeddings, the cell of an LSTM. For norms see
// norms.cc.
#include "python/binding/layers.h"
#include "tensor/nn/initial.h"

namespace doorbell::python {

namespace {

template <class Class>
void define_weights(Class& type) {
  using Layer = typename Class::Type;
  tensor_attribute<Class, Layer>(type, "weight", &Layer::weight);
  if constexpr (requires { &Layer::bias; })
    tensor_attribute<Class, Layer>(type, "bias", &Layer::bias);
}

nn::LayerOptions layer_options(bool bias, const DevicesArg& device) {
  return {.bias = bias, .device = device.joined()};
}

// Padding "same" or "valid", or numbers.
void set_padding(nb::handle padding, Conv2dOptions* options) {
  Ints amounts;
  if (PyUnicode_Check(padding.ptr()))
    options->same =
        choose<bool>(nb::cast<std::string>(padding), {{"same", true}, {"valid", false}});
  else if (read_ints(padding, &amounts))
    options->padding = amounts.values;
  else
    throw nb::type_error("padding of a convolution: integers, \"same\" or \"valid\"");
}

nb::dict convolution_arguments(const Tensor& weight, const auto& options, const Tensor& bias) {
  const std::vector<i64> shape = weight.shape().values();
  nb::dict arguments;
  arguments["in_channels"] = arguments["out_channels"] = nb::none();  // in this order; set later
  arguments["kernel_size"] = nb::tuple(nb::cast(std::vector<i64>(shape.begin() + 2, shape.end())));
  arguments["stride"] = per_axis_object(options.stride);
  arguments["padding"] = per_axis_object(options.padding);
  arguments["dilation"] = per_axis_object(options.dilation);
  arguments["groups"] = options.groups;
  arguments["bias"] = bias.defined();
  return arguments;
}

constexpr const char* kConvolution =
    "def __init__(self, in_channels: int, out_channels: int, kernel_size: int | "
    "collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int] = 1, padding: int "
    "| collections.abc.Sequence[int] | str = 0, dilation: int | collections.abc.Sequence[int] = 1, "
    "groups: int = 1, bias: bool = True, device: str | None = None) -> None";

// One number for the kernel means `axes` of them.
template <usize kAxes, class Base>
void define_convolution(nb::module_& module, const char* name, const char* text) {
  struct Layer : Base {
    using Base::Base;
  };
  auto type = define_layer<Layer>(module, name, text, [](const Layer& layer) {
    nb::dict arguments = convolution_arguments(layer.weight, layer.options, layer.bias);
    arguments["in_channels"] = layer.weight.size(1).value() * layer.options.groups;
    arguments["out_channels"] = layer.weight.size(0).value();
    if (layer.options.same) arguments["padding"] = "same";
    return arguments;
  });
  type.def(
      "__init__",
      [](Layer* self, i64 in, i64 out, const Ints& kernel, const Ints& stride, nb::handle padding,
         const Ints& dilation, i64 groups, bool bias, const DevicesArg& device) {
        Conv2dOptions options{
            .stride = per_axis(stride), .dilation = per_axis(dilation), .groups = groups};
        set_padding(padding, &options);
        const std::vector<i64> sizes =
            kernel.is_one ? std::vector<i64>(kAxes, kernel.values[0]) : kernel.values;
        new (self) Layer(in, out, sizes, options, layer_options(bias, device));
      },
      nb::arg("in_channels"), nb::arg("out_channels"), nb::arg("kernel_size"),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1, nb::arg("groups") = 1,
      nb::arg("bias") = true, nb::arg("device").none() = nb::none(), nb::sig(kConvolution));
  tensor_attribute(type, "weight", static_cast<Tensor Layer::*>(&Base::weight));
  tensor_attribute(type, "bias", static_cast<Tensor Layer::*>(&Base::bias));
}

template <usize kAxes>
void define_transposed(nb::module_& module, const char* name, const char* text) {
  struct Layer : nn::ConvTranspose2d {
    using nn::ConvTranspose2d::ConvTranspose2d;
  };
  auto type = define_layer<Layer>(module, name, text, [](const Layer& layer) {
    nb::dict arguments = convolution_arguments(layer.weight, layer.options, layer.bias);
    arguments["in_channels"] = layer.weight.size(0).value();
    arguments["out_channels"] = layer.weight.size(1).value() * layer.options.groups;
    arguments["output_padding"] = per_axis_object(layer.options.output_padding);
    return arguments;
  });
  type.def(
      "__init__",
      [](Layer* self, i64 in, i64 out, const Ints& kernel, const Ints& stride, const Ints& padding,
         const Ints& output_padding, i64 groups, bool bias, const Ints& dilation,
         const DevicesArg& device) {
        const ConvTranspose2dOptions options{.stride = per_axis(stride),
                                             .padding = per_axis(padding),
                                             .output_padding = per_axis(output_padding),
                                             .groups = groups,
                                             .dilation = per_axis(dilation)};
        const std::vector<i64> sizes =
            kernel.is_one ? std::vector<i64>(kAxes, kernel.values[0]) : kernel.values;
        new (self) Layer(in, out, sizes, options, layer_options(bias, device));
      },
      nb::arg("in_channels"), nb::arg("out_channels"), nb::arg("kernel_size"),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("output_padding") = 0,
      nb::arg("groups") = 1, nb::arg("bias") = true, nb::arg("dilation") = 1,
      nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, in_channels: int, out_channels: int, kernel_size: int | "
              "collections.abc.Sequence[int], stride: int | collections.abc.Sequence[int] = "
              "1, padding: int | collections.abc.Sequence[int] = 0, output_padding: int | "
              "collections.abc.Sequence[int] = 0, groups: int = 1, bias: bool = True, "
              "dilation: int | collections.abc.Sequence[int] = 1, device: str | None = None) "
              "-> None"));
  tensor_attribute(type, "weight", static_cast<Tensor Layer::*>(&nn::ConvTranspose2d::weight));
  tensor_attribute(type, "bias", static_cast<Tensor Layer::*>(&nn::ConvTranspose2d::bias));
}

void define_linear(nb::module_& module) {
  auto linear = define_layer<nn::Linear>(
      module, "Linear",
      "(..., in_features) to (..., out_features): times the weight (out, in), and the bias.\n\n"
      "The weight starts as PyTorch's. Raises ValueError for an input of another size.\n\n"
      ">>> nn.Linear(3, 2)(Tensor.ones(4, 3)).shape\n(4, 2)",
      [](const nn::Linear& layer) {
        nb::dict arguments;
        arguments["in_features"] = layer.weight.size(1).value();
        arguments["out_features"] = layer.weight.size(0).value();
        arguments["bias"] = layer.bias.defined();
        return arguments;
      });
  linear.def(
      "__init__",
      [](nn::Linear* self, i64 in, i64 out, bool bias, const DevicesArg& device) {
        new (self) nn::Linear(in, out, layer_options(bias, device));
      },
      nb::arg("in_features"), nb::arg("out_features"), nb::arg("bias") = true,
      nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, in_features: int, out_features: int, bias: bool = True, "
              "device: str | None = None) -> None"));
  tensor_attribute(linear, "weight", &nn::Linear::weight);
  tensor_attribute(linear, "bias", &nn::Linear::bias);
}

void define_embedding(nb::module_& module) {
  auto embedding = define_layer<nn::Embedding>(
      module, "Embedding",
      "Rows of a table, by integers of any shape: (...) to (..., embedding_dim).\n\n"
      ">>> nn.Embedding(10, 4)(Tensor([[1, 2]])).shape\n(1, 2, 4)",
      [](const nn::Embedding& layer) {
        nb::dict arguments;
        arguments["num_embeddings"] = layer.weight.size(0).value();
        arguments["embedding_dim"] = layer.weight.size(1).value();
        return arguments;
      },
      nb::call_guard<Unlocked>());  // CHECK_INDEX computes the index
  const char* names[][2] = {{"num_embeddings", "embedding_dim"}, {"vocab_size", "embed_size"}};
  const char* signatures[] = {
      "def __init__(self, num_embeddings: int, embedding_dim: int, device: str | None = None) -> "
      "None",
      "def __init__(self, vocab_size: int, embed_size: int, device: str | None = None) -> None"};
  for (int i = 0; i < 2; ++i)
    embedding.def(
        "__init__",
        [](nn::Embedding* self, i64 count, i64 features, const DevicesArg& device) {
          new (self) nn::Embedding(count, features, device.joined());
        },
        nb::arg(names[i][0]), nb::arg(names[i][1]), nb::arg("device").none() = nb::none(),
        nb::sig(signatures[i]));
  tensor_attribute(embedding, "weight", &nn::Embedding::weight);
}

void define_lstm(nb::module_& module) {
  nb::class_<nn::LSTMCell> cell(
      module, "LSTMCell", nb::dynamic_attr(),
      "One step of a long short-term memory: cell(x, (hidden, cell)) gives (hidden, cell), of "
      "shape "
      "(batch, hidden_size).\n\n"
      ">>> h, c = nn.LSTMCell(3, 5)(Tensor.ones(2, 3))\n>>> h.shape, c.shape\n((2, 5), (2, 5))");
  cell.def(
          "__init__",
          [](nn::LSTMCell* self, i64 in, i64 hidden, bool bias, const DevicesArg& device) {
            new (self) nn::LSTMCell(in, hidden, layer_options(bias, device));
          },
          nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("bias") = true,
          nb::arg("device").none() = nb::none(),
          nb::sig("def __init__(self, input_size: int, hidden_size: int, bias: bool = True, "
                  "device: str | None = None) -> None"))
      .def(
          "__call__",
          [](const nn::LSTMCell& self, const Tensor& x,
             std::optional<std::pair<Tensor, Tensor>> state) {
            return state ? self(x, state->first, state->second) : self(x);
          },
          nb::arg("x"), nb::arg("hc").none() = nb::none(),
          nb::sig("def __call__(self, x: Tensor, hc: tuple[Tensor, Tensor] | None = None) -> "
                  "tuple[Tensor, Tensor]"));
  define_layer_basics<nn::LSTMCell>(cell, "LSTMCell", [](const nn::LSTMCell& layer) {
    nb::dict arguments;
    arguments["input_size"] = layer.weight_ih.size(1).value();
    arguments["hidden_size"] = layer.size;
    arguments["bias"] = layer.bias_ih.defined();
    return arguments;
  });
  tensor_attribute(cell, "weight_ih", &nn::LSTMCell::weight_ih);
  tensor_attribute(cell, "weight_hh", &nn::LSTMCell::weight_hh);
  tensor_attribute(cell, "bias_ih", &nn::LSTMCell::bias_ih);
  tensor_attribute(cell, "bias_hh", &nn::LSTMCell::bias_hh);
}

}  // namespace

void define_layers(nb::module_& module) {
  module.def(
      "_skip_initial_values",
      [](const nb::callable& make) {
        nn::SkipInitialScope scope;
        make();
      },
      nb::arg("make"),
      nb::sig("def _skip_initial_values(make: collections.abc.Callable[[], None]) -> None"));
  define_linear(module);
  define_convolution<2, nn::Conv2d>(
      module, "Conv2d",
      "(n, in, ...) to (n, out, ...), over as many spatial axes as the kernel has sizes.\n\n"
      ">>> nn.Conv2d(1, 4, 3, padding=1)(Tensor.ones(2, 1, 8, 8)).shape\n(2, 4, 8, 8)");
  define_convolution<1, nn::Conv2d>(
      module, "Conv1d",
      "(n, in, length) to (n, out, length).\n\n"
      ">>> nn.Conv1d(1, 4, 3)(Tensor.ones(2, 1, 8)).shape\n(2, 4, 6)");
  define_transposed<2>(module, "ConvTranspose2d",
                       "(n, in, ...) to (n, out, ...): what Conv2d makes small becomes large.\n\n"
                       ">>> nn.ConvTranspose2d(4, 1, 2, stride=2)(Tensor.ones(2, 4, 3, 3)).shape\n"
                       "(2, 1, 6, 6)");
  define_transposed<1>(module, "ConvTranspose1d",
                       "(n, in, length) to (n, out, length).\n\n"
                       ">>> nn.ConvTranspose1d(4, 1, 2)(Tensor.ones(2, 4, 3)).shape\n(2, 1, 4)");
  define_embedding(module);
  define_lstm(module);
  auto dropout = define_layer<nn::Dropout>(
      module, "Dropout",
      "In a training scope, each element is zero with the chance p, and the others are divided by "
      "1 - p.\n\n>>> nn.Dropout(0.5)(Tensor.ones(2)).tolist()\n[1.0, 1.0]",
      [](const nn::Dropout& layer) {
        nb::dict arguments;
        arguments["p"] = layer.probability;
        return arguments;
      });
  dropout.def(nb::init<f64>(), nb::arg("p") = 0.5);
}

}  // namespace doorbell::python
