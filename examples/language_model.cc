// Trains a small GPT on the characters of a text and then writes some of its own.
// Usage: language_model [TEXT] [--weights FILE] [--steps N], by default on
// examples/data/sonnets.txt. language_model_torch.py is the same program with PyTorch; with the
// same weights both have the same losses.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>

#include <CLI/CLI.hpp>

#include <doorbell/doorbell.h>

using namespace doorbell;

constexpr i64 kLayers = 2, kHeads = 4, kWidth = 64, kContext = 32, kBatch = 8;

struct Block {
  nn::LayerNorm norm1{{kWidth}}, norm2{{kWidth}};
  nn::Linear qkv{kWidth, 3 * kWidth}, projection{kWidth, kWidth};
  nn::Linear widen{kWidth, 4 * kWidth}, narrow{4 * kWidth, kWidth};

  Tensor operator()(const Tensor& x) const {
    const i64 batch = x.size(0).value();
    const Tensor all = qkv(norm1(x))
                           .reshape({batch, kContext, 3, kHeads, kWidth / kHeads})
                           .permute({2, 0, 3, 1, 4});
    const Tensor seen = all[0].scaled_dot_product_attention(all[1], all[2], {.is_causal = true});
    const Tensor y = x + projection(seen.transpose(1, 2).reshape({batch, kContext, kWidth}));
    return y + narrow(widen(norm2(y)).gelu(Gelu::Tanh));
  }
  void visit(nn::Visitor& visitor) {
    visitor("ln_1", norm1), visitor("attn.c_attn", qkv), visitor("attn.c_proj", projection);
    visitor("ln_2", norm2), visitor("mlp.c_fc", widen), visitor("mlp.c_proj", narrow);
  }
};

struct LanguageModel {
  nn::Embedding characters, positions{kContext, kWidth};
  std::vector<Block> blocks{static_cast<usize>(kLayers)};
  nn::LayerNorm norm{{kWidth}};
  nn::Linear head;

  explicit LanguageModel(i64 vocabulary)
      : characters(vocabulary, kWidth), head(kWidth, vocabulary, {.bias = false}) {}

  // Numbers (batch, context) to logits (batch, context, vocabulary) of the character after each.
  Tensor operator()(const Tensor& numbers) const {
    Tensor x = characters(numbers) + positions(Tensor::arange(kContext));
    for (const Block& block : blocks) x = block(x);
    return head(norm(x));
  }
  void visit(nn::Visitor& visitor) {
    visitor("wte", characters), visitor("wpe", positions);
    visitor("h", blocks), visitor("ln_f", norm), visitor("lm_head", head);
  }
};

// The text as numbers of its distinct characters.
struct Text {
  std::string characters;
  std::vector<i32> numbers;

  explicit Text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all(std::istreambuf_iterator<char>(file), {});
    if (static_cast<i64>(all.size()) < kContext + 2) {
      throw fail(ErrorKind::Invalid, "{} has {} characters, expected at least {}", path, all.size(),
                 kContext + 2);
    }
    for (int c = 0; c < 256; ++c) {
      if (all.find(static_cast<char>(c)) != std::string::npos) characters += static_cast<char>(c);
    }
    for (char c : all) numbers.push_back(static_cast<i32>(characters.find(c)));
  }

  // Random excerpts of the text, and the same shifted by one character.
  std::pair<Tensor, Tensor> batch(u32& random) const {
    std::vector<i32> inputs, labels;
    for (i64 i = 0; i < kBatch; ++i) {
      random = random * 1664525 + 1013904223;
      const auto start = numbers.begin() + (random >> 8) % (numbers.size() - kContext - 1);
      inputs.insert(inputs.end(), start, start + kContext);
      labels.insert(labels.end(), start + 1, start + 1 + kContext);
    }
    return {Tensor::from_data(inputs, {kBatch, kContext}),
            Tensor::from_data(labels, {kBatch, kContext})};
  }
};

void write_sample(const LanguageModel& model, const Text& text) {
  NoGradScope no_grad;
  std::mt19937 random(1);
  auto next = jit([&](const Tensor& numbers) { return model(numbers)[{0, -1}].softmax(); });
  std::vector<i32> window(text.numbers.begin(), text.numbers.begin() + kContext);
  for (int i = 0; i < 200; ++i) {
    const auto shares = next(Tensor::from_data(window, {1, kContext})).to_vector<f64>();
    std::discrete_distribution<i32> choice(shares.begin(), shares.end());
    window.erase(window.begin());
    window.push_back(choice(random));
    std::putchar(text.characters[static_cast<usize>(window.back())]);
  }
  std::putchar('\n');
}

int main(int argc, char** argv) try {
  std::string path = "examples/data/sonnets.txt", weights;
  int steps = 300;
  CLI::App app("Trains a small language model on a text");
  app.add_option("text", path, "a file to learn from");
  app.add_option("--weights", weights, "a safetensors file to start from");
  app.add_option("--steps", steps, "how often to train");
  CLI11_PARSE(app, argc, argv);

  const Text text(path);
  Tensor::manual_seed(1);
  LanguageModel model(static_cast<i64>(text.characters.size()));
  if (!weights.empty()) nn::load_state(model, io::load_safetensors(weights).tensors);
  nn::AdamW optimizer(nn::parameters_of(model), 1e-3);
  auto train = jit([&](const Tensor& inputs, const Tensor& labels) {
    TrainingScope training;
    optimizer.zero_grad();
    const Tensor loss = model(inputs).sparse_categorical_crossentropy(labels);
    loss.backward();
    optimizer.step({loss});
    return loss;
  });
  u32 random = 1;
  for (int step = 0; step < steps; ++step) {
    const auto [inputs, labels] = text.batch(random);
    std::printf("step %d: loss %.6f\n", step, train(inputs, labels).item<f64>());
  }
  write_sample(model, text);
} catch (const Error& error) {
  std::fprintf(stderr, "language_model: %s\n", error.what());
  return 1;
}
