// Initial values and forward passes of the layers; norms.cc has those of the norms.
#include "tensor/nn/layers.h"

#include "tensor/api/index_numbers.h"
#include "tensor/nn/initial.h"

namespace doorbell::nn {

Linear::Linear(i64 in, i64 out, const LayerOptions& options)
    : weight(initial_weight({out, in}, in, options.device)) {
  if (options.bias) bias = initial_weight({out}, in, options.device);
}

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor turned = weight.transpose(0, 1);
  return bias.defined() ? x.linear(turned, bias) : x.linear(turned);
}

void Linear::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

Conv2d::Conv2d(i64 in, i64 out, const std::vector<i64>& kernel, const Conv2dOptions& options,
               const LayerOptions& layer)
    : options(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw fail(ErrorKind::Invalid,
               "{} to {} channels in {} groups, expected channels that the groups divide", in, out,
               options.groups);
  }
  Shape shape{out, in / options.groups};
  i64 inputs = in / options.groups;
  for (i64 size : kernel) {
    shape.push_back(size);
    inputs *= size;
  }
  weight = initial_weight(shape, inputs, layer.device);
  if (layer.bias) bias = initial_weight({out}, inputs, layer.device);
}

Tensor Conv2d::operator()(const Tensor& x) const { return x.conv2d(weight, bias, options); }

void Conv2d::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

ConvTranspose2d::ConvTranspose2d(i64 in, i64 out, const std::vector<i64>& kernel,
                                 const ConvTranspose2dOptions& options, const LayerOptions& layer)
    : options(options) {
  if (options.groups < 1 || in % options.groups != 0 || out % options.groups != 0) {
    throw fail(ErrorKind::Invalid,
               "{} to {} channels in {} groups, expected channels that the groups divide", in, out,
               options.groups);
  }
  Shape shape{in, out / options.groups};
  i64 inputs = out / options.groups;  // as PyTorch counts them here
  for (i64 size : kernel) {
    shape.push_back(size);
    inputs *= size;
  }
  weight = initial_weight(shape, inputs, layer.device);
  if (layer.bias) bias = initial_weight({out}, inputs, layer.device);
}

Tensor ConvTranspose2d::operator()(const Tensor& x) const {
  return x.conv_transpose2d(weight, bias, options);
}

void ConvTranspose2d::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

Embedding::Embedding(i64 count, i64 features, const std::string& device)
    : weight(initial_normal({count, features}, device)) {}

Tensor Embedding::operator()(const Tensor& indices) const {
  detail::check_index(indices, 0, weight.size(0).value(), 0);  // none counts from the end
  return weight[indices];
}

void Embedding::visit(Visitor& visitor) { visitor("weight", weight); }

LSTMCell::LSTMCell(i64 in, i64 hidden, const LayerOptions& options)
    : size(hidden),
      weight_ih(initial_weight({4 * hidden, in}, hidden, options.device)),
      weight_hh(initial_weight({4 * hidden, hidden}, hidden, options.device)) {
  if (!options.bias) return;
  bias_ih = initial_weight({4 * hidden}, hidden, options.device);
  bias_hh = initial_weight({4 * hidden}, hidden, options.device);
}

std::pair<Tensor, Tensor> LSTMCell::operator()(const Tensor& x, const Tensor& hidden,
                                               const Tensor& cell) const {
  Tensor sums = x.linear(weight_ih.transpose(0, 1));
  if (bias_ih.defined()) sums = sums + bias_ih + bias_hh;
  if (hidden.defined()) sums = sums + hidden.linear(weight_hh.transpose(0, 1));
  const std::vector<Tensor> gates = sums.split(size, 1);
  Tensor next = gates[0].sigmoid() * gates[2].tanh();
  if (cell.defined()) next = next + gates[1].sigmoid() * cell;
  return {gates[3].sigmoid() * next.tanh(), next};
}

void LSTMCell::visit(Visitor& visitor) {
  visitor("weight_ih", weight_ih);
  visitor("weight_hh", weight_hh);
  visitor("bias_ih", bias_ih);
  visitor("bias_hh", bias_hh);
}

}  // namespace doorbell::nn
