// LSTM, GRU, RNN and their cells, with PyTorch's arguments and results.
#include <nanobind/nanobind.h>

#include "python/binding/layers.h"
#include "tensor/nn/recurrent.h"

namespace doorbell::python {

namespace {

// weight_ih_l0 and its like as attributes, as many as there are.
template <class Layer>
nb::object weight_named(Layer& layer, const std::string& wanted) {
  Tensor found;
  bool is_one = false;
  nn::Visitor visitor(
      [&](const std::string& name, Tensor& tensor) {
        if (name != wanted) return;
        found = tensor;
        is_one = true;
      },
      true);
  layer.visit(visitor);
  if (!is_one) throw nb::attribute_error(("no attribute " + wanted).c_str());
  return to_python(found);
}

template <class Layer>
nb::dict recurrent_arguments(const Layer& layer) {
  nb::dict arguments;
  arguments["input_size"] = layer.input_size;
  arguments["hidden_size"] = layer.hidden_size;
  arguments["num_layers"] = layer.options.num_layers;
  arguments["bias"] = layer.options.bias;
  arguments["batch_first"] = layer.options.batch_first;
  arguments["dropout"] = layer.options.dropout;
  arguments["bidirectional"] = layer.options.bidirectional;
  if (layer.options.proj_size != 0) arguments["proj_size"] = layer.options.proj_size;
  if constexpr (std::is_same_v<Layer, nn::RNN>)
    arguments["nonlinearity"] = layer.is_relu() ? "relu" : "tanh";
  return arguments;
}

constexpr const char* kSizes =
    "def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, ";
constexpr const char* kBiasTo =
    "bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = "
    "False, ";
constexpr const char* kDevice = "device: str | None = None) -> None";

template <class Layer>
nb::class_<Layer> define_recurrent(nb::module_& module, const char* name, const char* text) {
  nb::class_<Layer> type(module, name, nb::dynamic_attr(), text);
  define_layer_basics<Layer>(type, name, &recurrent_arguments<Layer>);
  type.def("__getattr__", &weight_named<Layer>, nb::arg("name"),
           nb::sig("def __getattr__(self, name: str, /) -> typing.Any"));
  return type;
}

nn::RecurrentOptions options_of(i64 layers, bool bias, bool batch_first, f64 dropout,
                                bool bidirectional, i64 proj_size, const DevicesArg& device) {
  return {.num_layers = layers,
          .bias = bias,
          .batch_first = batch_first,
          .dropout = dropout,
          .bidirectional = bidirectional,
          .proj_size = proj_size,
          .device = device.joined()};
}

template <class Layer>
void define_call(nb::class_<Layer>& type) {
  type.def(
      "__call__",
      [](const Layer& self, const Tensor& x, const MaybeTensor& hidden) {
        const nn::RecurrentResult result = self(x, {hidden.tensor});
        return std::make_pair(result.output, result.state.hidden);
      },
      nb::arg("x"), nb::arg("hx").none() = nb::none(),
      nb::sig("def __call__(self, x: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]"));
}

void define_lstm_and_gru(nb::module_& module) {
  auto lstm = define_recurrent<nn::LSTM>(
      module, "LSTM",
      "A long short-term memory over sequences (length, batch, features), (batch, length, "
      "features) "
      "with batch_first, or (length, features): gives the outputs of the last layer and (hidden, "
      "cell) of all. proj_size: hidden states are projected to so many features.\n\n"
      ">>> output, (hidden, cell) = nn.LSTM(3, 5, num_layers=2)(Tensor.ones(4, 2, 3))\n"
      ">>> output.shape, hidden.shape\n((4, 2, 5), (2, 2, 5))");
  lstm.def(
      "__init__",
      [](nn::LSTM* self, i64 in, i64 hidden, i64 layers, bool bias, bool batch_first, f64 dropout,
         bool bidirectional, i64 proj_size, const DevicesArg& device) {
        new (self) nn::LSTM(
            in, hidden,
            options_of(layers, bias, batch_first, dropout, bidirectional, proj_size, device));
      },
      nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("num_layers") = 1,
      nb::arg("bias") = true, nb::arg("batch_first") = false, nb::arg("dropout") = 0.0,
      nb::arg("bidirectional") = false, nb::arg("proj_size") = 0,
      nb::arg("device").none() = nb::none(),
      nb::sig(kept(std::string(kSizes) + kBiasTo + "proj_size: int = 0, " + kDevice)));
  lstm.def(
      "__call__",
      [](const nn::LSTM& self, const Tensor& x, std::optional<std::pair<Tensor, Tensor>> state) {
        nn::RecurrentState start;
        if (state) start = {state->first, state->second};
        const nn::RecurrentResult result = self(x, start);
        return std::make_pair(result.output,
                              std::make_pair(result.state.hidden, result.state.cell));
      },
      nb::arg("x"), nb::arg("hx").none() = nb::none(),
      nb::sig("def __call__(self, x: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> "
              "tuple[Tensor, tuple[Tensor, Tensor]]"));
  auto gru = define_recurrent<nn::GRU>(
      module, "GRU",
      "A gated recurrent unit over sequences, laid out as LSTM's: gives the outputs of the last "
      "layer and the hidden state of all.\n\n"
      ">>> output, hidden = nn.GRU(3, 5, bidirectional=True)(Tensor.ones(4, 2, 3))\n"
      ">>> output.shape, hidden.shape\n((4, 2, 10), (2, 2, 5))");
  gru.def(
      "__init__",
      [](nn::GRU* self, i64 in, i64 hidden, i64 layers, bool bias, bool batch_first, f64 dropout,
         bool bidirectional, const DevicesArg& device) {
        new (self) nn::GRU(
            in, hidden, options_of(layers, bias, batch_first, dropout, bidirectional, 0, device));
      },
      nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("num_layers") = 1,
      nb::arg("bias") = true, nb::arg("batch_first") = false, nb::arg("dropout") = 0.0,
      nb::arg("bidirectional") = false, nb::arg("device").none() = nb::none(),
      nb::sig(kept(std::string(kSizes) + kBiasTo + kDevice)));
  define_call(gru);
}

nn::RNNActivation activation_of(const std::string& name) {
  return choose<nn::RNNActivation>(
      name, {{"tanh", nn::RNNActivation::Tanh}, {"relu", nn::RNNActivation::ReLU}});
}

void define_rnn(nb::module_& module) {
  auto rnn = define_recurrent<nn::RNN>(
      module, "RNN",
      "A plain recurrent network over sequences, laid out as LSTM's, with tanh or relu: gives the "
      "outputs of the last layer and the hidden state of all.\n\n"
      ">>> nn.RNN(3, 5, nonlinearity=\"relu\")(Tensor.ones(4, 2, 3))[0].shape\n(4, 2, 5)");
  rnn.def(
      "__init__",
      [](nn::RNN* self, i64 in, i64 hidden, i64 layers, const std::string& nonlinearity, bool bias,
         bool batch_first, f64 dropout, bool bidirectional, const DevicesArg& device) {
        new (self) nn::RNN(in, hidden,
                           options_of(layers, bias, batch_first, dropout, bidirectional, 0, device),
                           activation_of(nonlinearity));
      },
      nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("num_layers") = 1,
      nb::arg("nonlinearity") = "tanh", nb::arg("bias") = true, nb::arg("batch_first") = false,
      nb::arg("dropout") = 0.0, nb::arg("bidirectional") = false,
      nb::arg("device").none() = nb::none(),
      nb::sig(kept(std::string(kSizes) + "nonlinearity: str = 'tanh', " + kBiasTo + kDevice)));
  define_call(rnn);
}

template <class Cell>
nb::class_<Cell> define_cell(nb::module_& module, const char* name, const char* text,
                             Arguments<Cell> arguments) {
  nb::class_<Cell> type(module, name, nb::dynamic_attr(), text);
  define_layer_basics<Cell>(type, name, arguments);
  type.def(
      "__call__",
      [](const Cell& self, const Tensor& x, const MaybeTensor& hidden) {
        return self(x, hidden.tensor);
      },
      nb::arg("x"), nb::arg("hx").none() = nb::none(),
      nb::sig("def __call__(self, x: Tensor, hx: Tensor | None = None) -> Tensor"));
  tensor_attribute(type, "weight_ih", &Cell::weight_ih);
  tensor_attribute(type, "weight_hh", &Cell::weight_hh);
  tensor_attribute(type, "bias_ih", &Cell::bias_ih);
  tensor_attribute(type, "bias_hh", &Cell::bias_hh);
  return type;
}

template <class Cell>
nb::dict cell_arguments(const Cell& cell) {
  nb::dict arguments;
  arguments["input_size"] = cell.weight_ih.size(1).value();
  arguments["hidden_size"] = cell.size;
  arguments["bias"] = cell.bias_ih.defined();
  if constexpr (std::is_same_v<Cell, nn::RNNCell>)
    arguments["nonlinearity"] = cell.activation == nn::RNNActivation::ReLU ? "relu" : "tanh";
  return arguments;
}

}  // namespace

void define_recurrent_layers(nb::module_& module) {
  define_lstm_and_gru(module);
  define_rnn(module);
  auto gru = define_cell<nn::GRUCell>(
      module, "GRUCell",
      "One step of a gated recurrent unit: the next hidden state, (batch, hidden_size).\n\n"
      ">>> nn.GRUCell(3, 5)(Tensor.ones(2, 3)).shape\n(2, 5)",
      &cell_arguments<nn::GRUCell>);
  gru.def(
      "__init__",
      [](nn::GRUCell* self, i64 in, i64 hidden, bool bias, const DevicesArg& device) {
        new (self) nn::GRUCell(in, hidden, {.bias = bias, .device = device.joined()});
      },
      nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("bias") = true,
      nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: "
              "str | None = None) -> None"));
  auto rnn = define_cell<nn::RNNCell>(
      module, "RNNCell",
      "One step of a plain recurrent network: the next hidden state, (batch, hidden_size).\n\n"
      ">>> nn.RNNCell(3, 5)(Tensor.ones(2, 3)).shape\n(2, 5)",
      &cell_arguments<nn::RNNCell>);
  rnn.def(
      "__init__",
      [](nn::RNNCell* self, i64 in, i64 hidden, bool bias, const std::string& nonlinearity,
         const DevicesArg& device) {
        new (self) nn::RNNCell(in, hidden, {.bias = bias, .device = device.joined()},
                               activation_of(nonlinearity));
      },
      nb::arg("input_size"), nb::arg("hidden_size"), nb::arg("bias") = true,
      nb::arg("nonlinearity") = "tanh", nb::arg("device").none() = nb::none(),
      nb::sig("def __init__(self, input_size: int, hidden_size: int, bias: bool = True, "
              "nonlinearity: str = 'tanh', device: str | None = None) -> None"));
}

}  // namespace doorbell::python
