// Attention with several heads and its projections, with PyTorch's names and masks.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tensor/nn/layers.h"

namespace doorbell::nn {

struct MultiheadAttentionOptions {
  f64 dropout = 0.0;  // of the weights, in a TrainingScope only
  bool bias = true;
  bool add_bias_kv = false;    // a key and a value that are learnt, behind the others
  bool add_zero_attn = false;  // a key and a value of zeros, behind those
  bool batch_first = false;
  std::optional<i64> kdim{}, vdim{};  // features of keys and values; none: embed_dim
  std::string device{};
};

// How one call looks. In masks of bools true means: not allowed, as in PyTorch's module and unlike
// scaled_dot_product_attention; masks of numbers are added.
struct AttentionCall {
  Tensor key_padding_mask{};  // (batch, keys), or (keys) without a batch
  Tensor attn_mask{};         // (queries, keys) or (batch * heads, queries, keys)
  bool need_weights = true;
  bool average_attn_weights = true;
  bool is_causal = false;  // a query sees keys up to its own place
};

// Queries (length, batch, embed_dim), (batch, length, embed_dim) with batch_first, or without a
// batch (length, embed_dim); keys and values alike. Gives the output in the queries' shape, and the
// weights (batch, queries, keys), by head before the last two axes unless averaged; not defined
// where they are not needed.
struct MultiheadAttention {
  MultiheadAttention(i64 embed_dim, i64 num_heads, const MultiheadAttentionOptions& options = {});
  std::pair<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const AttentionCall& call = {}) const;
  void visit(Visitor& visitor);

  i64 embed_dim, num_heads;
  MultiheadAttentionOptions options;
  Tensor in_proj_weight;                               // (3 embed_dim, embed_dim), or instead
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;  // (embed_dim, embed_dim, kdim, vdim)
  Tensor in_proj_bias;
  Tensor bias_k, bias_v;  // (1, 1, embed_dim), of add_bias_kv
  Linear out_proj;

 private:
  Tensor mask_of(const AttentionCall& call, const Size& batch, const Size& queries,
                 const Size& keys) const;
};

}  // namespace doorbell::nn
