// GPT-2: `small` is 12 layers of width 768. Weights are the layers' initial ones; tokens are
// numbers.
#pragma once

#include <vector>

#include "tensor/nn/layers.h"

namespace doorbell::bench {

struct GptSizes {
  i64 layers = 12, width = 768, heads = 12, vocabulary = 50257, context = 1024;
};

// Keys and values of the positions before: (batch, heads, positions, width / heads).
struct GptCache {
  Tensor keys, values;
};

struct GptBlock {
  i64 heads;
  nn::LayerNorm norm1, norm2;
  nn::Linear qkv, projection, widen, narrow;

  explicit GptBlock(const GptSizes& sizes)
      : heads(sizes.heads),
        norm1({sizes.width}),
        norm2({sizes.width}),
        qkv(sizes.width, 3 * sizes.width),
        projection(sizes.width, sizes.width),
        widen(sizes.width, 4 * sizes.width),
        narrow(4 * sizes.width, sizes.width) {}

  Tensor operator()(const Tensor& x, const GptCache* cache) {
    const i64 batch = x.size(0).value(), length = x.size(1).value(), width = x.size(2).value();
    const Tensor all =
        qkv(norm1(x)).reshape({batch, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const Tensor q = all[0];
    Tensor k = all[1], v = all[2];
    if (cache != nullptr) {
      k = Tensor::cat({cache->keys, k}, 2);
      v = Tensor::cat({cache->values, v}, 2);
    }
    const Tensor attended = q.scaled_dot_product_attention(k, v, {.is_causal = cache == nullptr});
    const Tensor y = x + projection(attended.transpose(1, 2).reshape({batch, length, width}));
    return y + narrow(widen(norm2(y)).gelu(Gelu::Tanh));
  }
  void visit(nn::Visitor& visitor) {
    visitor("ln_1", norm1), visitor("attn.c_attn", qkv), visitor("attn.c_proj", projection);
    visitor("ln_2", norm2), visitor("mlp.c_fc", widen), visitor("mlp.c_proj", narrow);
  }
};

struct Gpt {
  nn::Embedding tokens, positions;
  std::vector<GptBlock> blocks;
  nn::LayerNorm norm;

  explicit Gpt(const GptSizes& sizes = {})
      : tokens(sizes.vocabulary, sizes.width),
        positions(sizes.context, sizes.width),
        norm({sizes.width}) {
    for (i64 i = 0; i < sizes.layers; ++i) blocks.emplace_back(sizes);
  }

  // Maps numbers (batch, length) to the logits of the token after the last. `caches`, one per
  // layer, have the positions before them, or are empty.
  Tensor operator()(const Tensor& numbers, const std::vector<GptCache>& caches = {},
                    i64 first_position = 0) {
    const Tensor last = features(numbers, caches, first_position).at({{Index(Slice()), Index(-1)}});
    return last.matmul(tokens.weight.t());
  }
  // The logits of the token after each, for training.
  Tensor all_logits(const Tensor& numbers) {
    return features(numbers, {}, 0).matmul(tokens.weight.t());
  }
  Tensor features(const Tensor& numbers, const std::vector<GptCache>& caches, i64 first_position) {
    const i64 length = numbers.size(1).value();
    Tensor x = tokens(numbers) + positions(Tensor::arange(first_position, first_position + length));
    for (usize i = 0; i < blocks.size(); ++i)
      x = blocks[i](x, caches.empty() ? nullptr : &caches[i]);
    return norm(x);
  }
  void visit(nn::Visitor& visitor) {
    visitor("wte", tokens), visitor("wpe", positions);
    visitor("h", blocks), visitor("ln_f", norm);
  }
};

}  // namespace doorbell::bench
