// Projections, heads and masks around scores and shares.
#include "tensor/nn/attention.h"

#include <cmath>
#include <limits>

#include "tensor/nn/initial.h"

namespace doorbell::nn {

namespace {

Tensor xavier(i64 rows, i64 columns, const std::string& device) {
  return initial_uniform({rows, columns}, std::sqrt(6.0 / static_cast<f64>(rows + columns)),
                         device);
}

// Keys or values (batch, length, features) with more of them behind: one that is learnt, zeros.
Tensor extended(const Tensor& x, const Tensor& learnt, bool with_zeros) {
  const Shape one{x.size(0), 1, x.size(2)};
  std::vector<Tensor> parts{x};
  if (learnt.defined()) parts.push_back(learnt.cast(x.dtype()).expand(one));
  if (with_zeros) parts.push_back(Tensor::zeros(one, {.dtype = x.dtype(), .device = x.device()}));
  return parts.size() == 1 ? x : Tensor::cat(parts, 1);
}

// A mask with more keys, which are allowed.
Tensor extended_mask(const Tensor& mask, const Size& more) {
  std::vector<std::pair<Size, Size>> after(static_cast<usize>(mask.ndim()), {0, 0});
  after.back().second = more;
  return mask.pad(after);
}

// As something to add to scores.
Tensor additive(const Tensor& mask) {
  constexpr f64 kNever = -std::numeric_limits<f64>::infinity();
  return mask.dtype().is_bool() ? doorbell::where(mask, kNever, 0.0) : mask;
}

}  // namespace

MultiheadAttention::MultiheadAttention(i64 embed_dim, i64 num_heads,
                                       const MultiheadAttentionOptions& options)
    : embed_dim(embed_dim),
      num_heads(num_heads),
      options(options),
      out_proj(embed_dim, embed_dim, {.bias = options.bias, .device = options.device}) {
  if (embed_dim < 1 || num_heads < 1 || embed_dim % num_heads != 0)
    throw fail(ErrorKind::Invalid, "attention of {} features with {} heads", embed_dim, num_heads);
  const i64 kdim = options.kdim.value_or(embed_dim), vdim = options.vdim.value_or(embed_dim);
  if (kdim == embed_dim && vdim == embed_dim) {
    in_proj_weight = xavier(3 * embed_dim, embed_dim, options.device);
  } else {
    q_proj_weight = xavier(embed_dim, embed_dim, options.device);
    k_proj_weight = xavier(embed_dim, kdim, options.device);
    v_proj_weight = xavier(embed_dim, vdim, options.device);
  }
  if (options.add_bias_kv) {
    const f64 spread = 1.0 / std::sqrt(static_cast<f64>(embed_dim));
    for (Tensor* bias : {&bias_k, &bias_v})
      *bias = (initial_normal({1, 1, embed_dim}, options.device) * spread).detach().clone();
    bias_k.requires_grad();
    bias_v.requires_grad();
  }
  if (!options.bias) return;
  const TensorOptions zeros{.device = options.device, .requires_grad = true};
  in_proj_bias = Tensor::zeros({3 * embed_dim}, zeros);
  out_proj.bias = Tensor::zeros({embed_dim}, zeros);
}

void MultiheadAttention::visit(Visitor& visitor) {
  visitor("in_proj_weight", in_proj_weight);
  visitor("q_proj_weight", q_proj_weight);
  visitor("k_proj_weight", k_proj_weight);
  visitor("v_proj_weight", v_proj_weight);
  visitor("in_proj_bias", in_proj_bias);
  visitor("bias_k", bias_k);
  visitor("bias_v", bias_v);
  visitor("out_proj", out_proj);
}

// To add to scores (batch, heads, queries, keys); not defined where all is allowed.
Tensor MultiheadAttention::mask_of(const AttentionCall& call, const Size& batch,
                                   const Size& queries, const Size& keys) const {
  Tensor mask;
  const auto add = [&](const Tensor& more) { mask = mask.defined() ? mask + more : more; };
  if (call.is_causal) {
    const TensorOptions bools{
        .dtype = dtypes::bool_,
        .device = in_proj_weight.defined() ? in_proj_weight.device() : q_proj_weight.device()};
    add(additive(Tensor::ones({queries, keys}, bools).triu(1)));
  }
  if (call.attn_mask.defined()) {
    const bool by_head = call.attn_mask.ndim() == 3;
    const Shape expected =
        by_head ? Shape{batch * Size(num_heads), queries, keys} : Shape{queries, keys};
    if (call.attn_mask.shape() != expected) {
      throw fail(ErrorKind::Invalid, "an attention mask of shape {}, expected {}",
                 call.attn_mask.shape().str(), expected.str());
    }
    const Tensor added = additive(call.attn_mask);
    add(by_head ? added.reshape({batch, num_heads, queries, keys}) : added);
  }
  if (call.key_padding_mask.defined()) {
    const Shape expected{batch, keys};
    const Tensor padding = call.key_padding_mask.ndim() == 1 ? call.key_padding_mask.unsqueeze(0)
                                                             : call.key_padding_mask;
    if (padding.shape() != expected) {
      throw fail(ErrorKind::Invalid, "a key padding mask of shape {}, expected {}",
                 call.key_padding_mask.shape().str(), expected.str());
    }
    add(additive(padding).reshape({batch, 1, 1, keys}));
  }
  return mask;
}

std::pair<Tensor, Tensor> MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                                         const Tensor& value,
                                                         const AttentionCall& call) const {
  const bool has_batch = query.ndim() == 3;
  if ((!has_batch && query.ndim() != 2) || key.ndim() != query.ndim() ||
      value.ndim() != query.ndim()) {
    throw fail(ErrorKind::Invalid,
               "attention of queries {}, keys {} and values {}, expected 3 axes, or 2 without a "
               "batch",
               query.shape().str(), key.shape().str(), value.shape().str());
  }
  // From here on (batch, length, features).
  const auto laid_out = [&](const Tensor& x) {
    if (!has_batch) return x.unsqueeze(0);
    return options.batch_first ? x : x.transpose(0, 1);
  };
  const Tensor inputs[] = {laid_out(query), laid_out(key), laid_out(value)};
  const Tensor apart[] = {q_proj_weight, k_proj_weight, v_proj_weight};
  Tensor heads[3];
  for (i64 i = 0; i < 3; ++i) {
    const Slice own(i * embed_dim, (i + 1) * embed_dim);
    const Tensor weight = in_proj_weight.defined() ? Tensor(in_proj_weight[{own}]) : apart[i];
    Tensor x = inputs[i].linear(weight.transpose(0, 1));
    if (in_proj_bias.defined()) x = x + in_proj_bias[{own}];
    if (i > 0) x = extended(x, i == 1 ? bias_k : bias_v, options.add_zero_attn);
    heads[i] = x.unflatten(-1, {num_heads, embed_dim / num_heads}).transpose(1, 2);
  }
  const f64 scale = 1.0 / std::sqrt(static_cast<f64>(embed_dim / num_heads));
  Tensor scores = heads[0].matmul(heads[1].transpose(-2, -1)) * scale;
  const Size keys = inputs[1].size(1);
  const Tensor mask = mask_of(call, inputs[0].size(0), inputs[0].size(1), keys);
  if (mask.defined())
    scores = scores + extended_mask(mask, scores.size(-1) - keys).cast(scores.dtype());
  const Tensor shares = scores.softmax(-1).dropout(options.dropout);
  Tensor output = out_proj(shares.matmul(heads[2]).transpose(1, 2).flatten(2));
  output = has_batch ? (options.batch_first ? output : output.transpose(0, 1)) : output.squeeze(0);
  if (!call.need_weights) return {output, Tensor()};
  const Tensor weights = call.average_attn_weights ? shares.mean(1) : shares;
  return {output, has_batch ? weights : weights.squeeze(0)};
}

}  // namespace doorbell::nn
