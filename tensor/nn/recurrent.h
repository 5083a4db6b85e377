// Recurrent networks over whole sequences, and their cells. Weights are named and laid out as
// PyTorch does it (weight_ih_l0, weight_hh_l0_reverse, ...), so that its checkpoints load; gates
// lie in its order: input, forget, cell, output of an LSTM; reset, update, new of a GRU.
//
// Sequences are (length, batch, features), (batch, length, features) with batch_first, or without
// a batch (length, features). Their length is a number: each step is a part of the graph.
#pragma once

#include <string>
#include <vector>

#include "tensor/nn/layers.h"

namespace doorbell::nn {

struct RecurrentOptions {
  i64 num_layers = 1;
  bool bias = true;
  bool batch_first = false;
  f64 dropout = 0.0;  // between layers, in a TrainingScope only
  bool bidirectional = false;
  i64 proj_size = 0;  // LSTM: hidden states are projected to so many features; 0: they are not
  std::string device{};
};

// The state between steps: (layers * directions, batch, features), without a batch two axes. The
// features of an LSTM with a projection are proj_size of the hidden state, hidden_size of the cell;
// else hidden_size.
struct RecurrentState {
  Tensor hidden;
  Tensor cell{};  // of an LSTM; else not defined
};

struct RecurrentResult {
  Tensor output;  // (length, batch, directions * features), as the input is laid out
  RecurrentState state;
};

// What LSTM, GRU and RNN share.
class Recurrent {
 public:
  // Undefined state: zeros.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& state = {}) const;
  void visit(Visitor& visitor);

  i64 input_size, hidden_size;
  RecurrentOptions options;

  struct Weights {
    Tensor weight_ih, weight_hh, bias_ih,
        bias_hh;         // (gates * hidden, in), (gates * hidden, features)
    Tensor weight_hr{};  // (proj_size, hidden), of a projection; else not defined
  };
  std::vector<Weights> weights;  // of each layer, forwards and then backwards

 protected:
  enum class Kind : u8 { LSTM, GRU, Tanh, ReLU };
  Recurrent(Kind kind, i64 in, i64 hidden, const RecurrentOptions& options);
  Kind kind() const { return kind_; }

 private:
  friend struct GRUCell;
  friend struct RNNCell;
  static RecurrentState step(Kind kind, const Tensor& projected, const RecurrentState& state,
                             const Weights& weights);
  RecurrentResult run(const Tensor& x, RecurrentState state, const Weights& weights,
                      bool backwards) const;
  i64 features() const { return options.proj_size != 0 ? options.proj_size : hidden_size; }
  RecurrentState state_of(const RecurrentState& given, const Tensor& x) const;

  Kind kind_;
};

struct LSTM : Recurrent {
  LSTM(i64 in, i64 hidden, const RecurrentOptions& options = {})
      : Recurrent(Kind::LSTM, in, hidden, options) {}
};

// Gated recurrent units over a sequence; names and order of weights are those of PyTorch.
struct GRU : Recurrent {
  GRU(i64 in, i64 hidden, const RecurrentOptions& options = {})
      : Recurrent(Kind::GRU, in, hidden, options) {}
};

enum class RNNActivation : u8 { Tanh, ReLU };

// A plain recurrent network over a sequence, with tanh or ReLU.
struct RNN : Recurrent {
  RNN(i64 in, i64 hidden, const RecurrentOptions& options = {},
      RNNActivation activation = RNNActivation::Tanh)
      : Recurrent(activation == RNNActivation::Tanh ? Kind::Tanh : Kind::ReLU, in, hidden,
                  options) {}
  // Whether the units use ReLU; otherwise tanh.
  bool is_relu() const { return kind() == Kind::ReLU; }
};

// One step; for LSTMCell see layers.h. Undefined hidden: zeros.
struct GRUCell {
  GRUCell(i64 in, i64 hidden, const LayerOptions& options = {});
  Tensor operator()(const Tensor& x, const Tensor& hidden = {}) const;
  void visit(Visitor& visitor);

  i64 size;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // (3 hidden, in), (3 hidden, hidden)
};

// One step of RNN.
struct RNNCell {
  RNNCell(i64 in, i64 hidden, const LayerOptions& options = {},
          RNNActivation activation = RNNActivation::Tanh);
  Tensor operator()(const Tensor& x, const Tensor& hidden = {}) const;
  void visit(Visitor& visitor);

  i64 size;
  RNNActivation activation;
  Tensor weight_ih, weight_hh, bias_ih, bias_hh;  // (hidden, in), (hidden, hidden)
};

}  // namespace doorbell::nn
