// Multi-head attention with its projections; names, masks and defaults are PyTorch's.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "tensor/nn/layers.h"

namespace doorbell::nn {

struct MultiheadAttentionOptions {
  f64 dropout = 0.0;  // probability of dropping a weight, in a TrainingScope only
  bool bias = true;
  bool add_bias_kv = false;    // append a learnt key and value
  bool add_zero_attn = false;  // append a key and a value of zeros
  bool batch_first = false;
  std::optional<i64> kdim{}, vdim{};  // features of keys and of values; default: embed_dim
  std::string device{};
};

// The arguments of one call besides query, key and value. A true in a boolean mask forbids a key,
// as in PyTorch's module (in scaled_dot_product_attention it allows one). A mask of numbers is
// added to the scores.
struct AttentionCall {
  Tensor key_padding_mask{};  // (batch, keys), or (keys) without a batch
  Tensor attn_mask{};         // (queries, keys) or (batch * heads, queries, keys)
  bool need_weights = true;
  bool average_attn_weights = true;
  bool is_causal = false;  // a query sees the keys up to its own position
};

// Queries have shape (length, batch, embed_dim), with batch_first (batch, length, embed_dim), or
// without a batch (length, embed_dim); keys and values likewise. Returns the output, in the shape
// of the queries, and the weights: (batch, queries, keys) averaged over heads, else (batch, heads,
// queries, keys). The weights are undefined unless need_weights is set.
struct MultiheadAttention {
  MultiheadAttention(i64 embed_dim, i64 num_heads, const MultiheadAttentionOptions& options = {});
  std::pair<Tensor, Tensor> operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                       const AttentionCall& call = {}) const;
  void visit(Visitor& visitor);

  i64 embed_dim, num_heads;
  MultiheadAttentionOptions options;
  Tensor in_proj_weight;  // (3 embed_dim, embed_dim); if kdim or vdim differs, these:
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;  // (embed_dim, embed_dim, kdim, vdim)
  Tensor in_proj_bias;
  Tensor bias_k, bias_v;  // (1, 1, embed_dim), of add_bias_kv
  Linear out_proj;

 private:
  Tensor mask_of(const AttentionCall& call, const Size& batch, const Size& queries,
                 const Size& keys) const;
};

}  // namespace doorbell::nn
