// The steps of recurrent networks, and the sequences of them. What depends on the input alone is
// one product for the whole sequence.
#include "tensor/nn/recurrent.h"

#include "tensor/nn/initial.h"

namespace doorbell::nn {

namespace {

Tensor by_weight(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor turned = weight.transpose(0, 1);
  return bias.defined() ? x.linear(turned, bias) : x.linear(turned);
}

}  // namespace

Recurrent::Recurrent(Kind kind, i64 in, i64 hidden, const RecurrentOptions& options)
    : input_size(in), hidden_size(hidden), options(options), kind_(kind) {
  if (in < 1 || hidden < 1 || options.num_layers < 1) {
    throw fail(
        ErrorKind::Invalid,
        "a recurrent network of {} layers from {} to {} features, expected 1 or more of each",
        options.num_layers, in, hidden);
  }
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw fail(ErrorKind::Invalid, "a dropout of {}, expected 0 to 1", options.dropout);
  const i64 projected = options.proj_size;
  if (projected != 0 && (kind != Kind::LSTM || projected < 0 || projected >= hidden)) {
    throw fail(ErrorKind::Invalid,
               "proj_size {} of {} with {} hidden features, expected an LSTM and fewer features, "
               "or 0",
               projected, kind == Kind::LSTM ? "an LSTM" : "a GRU or RNN", hidden);
  }
  const i64 gates = kind == Kind::LSTM ? 4 : kind == Kind::GRU ? 3 : 1;
  const i64 directions = options.bidirectional ? 2 : 1;
  for (i64 layer = 0; layer < options.num_layers; ++layer) {
    for (i64 direction = 0; direction < directions; ++direction) {
      const i64 inputs = layer == 0 ? in : directions * features();
      Weights own{
          .weight_ih = initial_weight({gates * hidden, inputs}, hidden, options.device),
          .weight_hh = initial_weight({gates * hidden, features()}, hidden, options.device)};
      if (options.bias) {
        own.bias_ih = initial_weight({gates * hidden}, hidden, options.device);
        own.bias_hh = initial_weight({gates * hidden}, hidden, options.device);
      }
      if (projected != 0)
        own.weight_hr = initial_weight({projected, hidden}, hidden, options.device);
      weights.push_back(std::move(own));
    }
  }
}

void Recurrent::visit(Visitor& visitor) {
  const usize directions = options.bidirectional ? 2 : 1;
  for (usize i = 0; i < weights.size(); ++i) {
    const std::string end =
        "_l" + std::to_string(i / directions) + (i % directions == 1 ? "_reverse" : "");
    visitor("weight_ih" + end, weights[i].weight_ih);
    visitor("weight_hh" + end, weights[i].weight_hh);
    visitor("bias_ih" + end, weights[i].bias_ih);
    visitor("bias_hh" + end, weights[i].bias_hh);
    visitor("weight_hr" + end, weights[i].weight_hr);
  }
}

// `projected`: the input by its weight, with its bias.
RecurrentState Recurrent::step(Kind kind, const Tensor& projected, const RecurrentState& state,
                               const Weights& weights) {
  const Tensor from_hidden = by_weight(state.hidden, weights.weight_hh, weights.bias_hh);
  if (kind == Kind::Tanh) return {(projected + from_hidden).tanh()};
  if (kind == Kind::ReLU) return {(projected + from_hidden).relu()};
  if (kind == Kind::LSTM) {
    const std::vector<Tensor> gates = (projected + from_hidden).contiguous().chunk(4, 1);
    const Tensor cell = gates[1].sigmoid() * state.cell + gates[0].sigmoid() * gates[2].tanh();
    const Tensor hidden = gates[3].sigmoid() * cell.tanh();
    return {weights.weight_hr.defined() ? by_weight(hidden, weights.weight_hr, {}) : hidden, cell};
  }
  const std::vector<Tensor> in = projected.chunk(3, 1), past = from_hidden.contiguous().chunk(3, 1);
  const Tensor reset = (in[0] + past[0]).sigmoid(), update = (in[1] + past[1]).sigmoid();
  const Tensor fresh = (in[2] + reset * past[2]).tanh();
  return {(1 - update) * fresh + update * state.hidden};
}

// x: (length, batch, features).
RecurrentResult Recurrent::run(const Tensor& x, RecurrentState state, const Weights& own,
                               bool backwards) const {
  const Tensor projected = by_weight(x, own.weight_ih, own.bias_ih).contiguous();
  std::vector<Tensor> outputs(static_cast<usize>(x.size(0).value()));
  for (usize i = 0; i < outputs.size(); ++i) {
    const usize at = backwards ? outputs.size() - 1 - i : i;
    state = step(kind_, projected[{static_cast<i64>(at)}], state, own);
    // Each step is read by the next and by the output: stored once.
    state.hidden = state.hidden.contiguous();
    if (state.cell.defined()) state.cell = state.cell.contiguous();
    outputs[at] = state.hidden;
  }
  return {Tensor::stack(outputs), state};
}

// As given, or zeros; x: (length, batch, features).
RecurrentState Recurrent::state_of(const RecurrentState& given, const Tensor& x) const {
  const auto checked = [&](const Tensor& tensor, i64 features, const char* what) {
    const Shape shape{static_cast<i64>(weights.size()), x.size(1), features};
    if (!tensor.defined()) return Tensor::zeros(shape, {.dtype = x.dtype(), .device = x.device()});
    if (tensor.shape() != shape) {
      throw fail(ErrorKind::Invalid, "a {} state of shape {}, expected {}", what,
                 tensor.shape().str(), shape.str());
    }
    return tensor;
  };
  RecurrentState state{checked(given.hidden, features(), "hidden")};
  if (kind_ == Kind::LSTM) state.cell = checked(given.cell, hidden_size, "cell");
  return state;
}

RecurrentResult Recurrent::operator()(const Tensor& input, const RecurrentState& given) const {
  const bool has_batch = input.ndim() == 3;
  if ((!has_batch && input.ndim() != 2) || !(input.size(-1) == Size(input_size))) {
    throw fail(ErrorKind::Invalid,
               "a sequence of shape {} for a recurrent network, expected 2 or 3 axes of which the "
               "last has {} features",
               input.shape().str(), input_size);
  }
  RecurrentState start = given;
  if (!has_batch) {
    if (start.hidden.defined()) start.hidden = start.hidden.unsqueeze(1);
    if (start.cell.defined()) start.cell = start.cell.unsqueeze(1);
  }
  const bool turn = has_batch && options.batch_first;
  Tensor x = has_batch ? (turn ? input.transpose(0, 1) : input) : input.unsqueeze(1);
  if (!x.size(0).is_const() || x.size(0).value() < 1)
    throw fail(ErrorKind::Invalid, "a sequence of length {}, expected a number of at least 1",
               x.size(0).str());
  start = state_of(start, x);
  const usize directions = options.bidirectional ? 2 : 1;
  std::vector<Tensor> hidden, cell;
  for (usize i = 0; i < weights.size(); i += directions) {
    if (i != 0) x = x.dropout(options.dropout);
    std::vector<Tensor> outputs;
    for (usize direction = 0; direction < directions; ++direction) {
      const i64 at = static_cast<i64>(i + direction);
      RecurrentState first{start.hidden[{at}]};
      if (start.cell.defined()) first.cell = start.cell[{at}];
      RecurrentResult done = run(x, first, weights[i + direction], direction == 1);
      outputs.push_back(done.output);
      hidden.push_back(done.state.hidden);
      if (done.state.cell.defined()) cell.push_back(done.state.cell);
    }
    x = directions == 1 ? outputs[0] : Tensor::cat(outputs, -1);
  }
  RecurrentResult result{x, {Tensor::stack(hidden)}};
  if (!cell.empty()) result.state.cell = Tensor::stack(cell);
  if (turn) result.output = x.transpose(0, 1);
  if (has_batch) return result;
  result.output = x.squeeze(1);
  result.state.hidden = result.state.hidden.squeeze(1);
  if (!cell.empty()) result.state.cell = result.state.cell.squeeze(1);
  return result;
}

namespace {

// x (batch, in) or (in).
Tensor cell_step(const auto& cell, const Tensor& x, const Tensor& hidden, auto step) {
  const bool has_batch = x.ndim() == 2;
  const Tensor rows = has_batch ? x : x.unsqueeze(0);
  const Tensor before =
      hidden.defined()
          ? (has_batch ? hidden : hidden.unsqueeze(0))
          : Tensor::zeros({rows.size(0), cell.size}, {.dtype = x.dtype(), .device = x.device()});
  const Tensor next = step(by_weight(rows, cell.weight_ih, cell.bias_ih), before);
  return has_batch ? next : next.squeeze(0);
}

void fill_cell(auto& cell, i64 gates, i64 in, const LayerOptions& options) {
  const i64 hidden = cell.size;
  cell.weight_ih = initial_weight({gates * hidden, in}, hidden, options.device);
  cell.weight_hh = initial_weight({gates * hidden, hidden}, hidden, options.device);
  if (!options.bias) return;
  cell.bias_ih = initial_weight({gates * hidden}, hidden, options.device);
  cell.bias_hh = initial_weight({gates * hidden}, hidden, options.device);
}

void visit_cell(auto& cell, Visitor& visitor) {
  visitor("weight_ih", cell.weight_ih);
  visitor("weight_hh", cell.weight_hh);
  visitor("bias_ih", cell.bias_ih);
  visitor("bias_hh", cell.bias_hh);
}

}  // namespace

GRUCell::GRUCell(i64 in, i64 hidden, const LayerOptions& options) : size(hidden) {
  fill_cell(*this, 3, in, options);
}

Tensor GRUCell::operator()(const Tensor& x, const Tensor& hidden) const {
  return cell_step(*this, x, hidden, [&](const Tensor& projected, const Tensor& before) {
    return Recurrent::step(Recurrent::Kind::GRU, projected, {before},
                           {weight_ih, weight_hh, bias_ih, bias_hh})
        .hidden;
  });
}

void GRUCell::visit(Visitor& visitor) { visit_cell(*this, visitor); }

RNNCell::RNNCell(i64 in, i64 hidden, const LayerOptions& options, RNNActivation activation)
    : size(hidden), activation(activation) {
  fill_cell(*this, 1, in, options);
}

Tensor RNNCell::operator()(const Tensor& x, const Tensor& hidden) const {
  const auto kind =
      activation == RNNActivation::Tanh ? Recurrent::Kind::Tanh : Recurrent::Kind::ReLU;
  return cell_step(*this, x, hidden, [&](const Tensor& projected, const Tensor& before) {
    return Recurrent::step(kind, projected, {before}, {weight_ih, weight_hh, bias_ih, bias_hh})
        .hidden;
  });
}

void RNNCell::visit(Visitor& visitor) { visit_cell(*this, visitor); }

}  // namespace doorbell::nn
