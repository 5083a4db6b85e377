// Trains a convolutional network on handwritten digits, as `doorbell demo` does. Usage: mnist
// [FOLDER], by default data/mnist, with the t10k files of MNIST.
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>

#include <doorbell/doorbell.h>

using namespace doorbell;

struct ConvNet {
  nn::Conv2d conv1{1, 32, {5, 5}}, conv2{32, 32, {5, 5}}, conv3{32, 64, {3, 3}},
      conv4{64, 64, {3, 3}};
  nn::BatchNorm norm1{32}, norm2{64};
  nn::Linear linear{576, 10};

  Tensor operator()(const Tensor& images) {
    Tensor x = norm1(conv2(conv1(images).relu()).relu()).max_pool2d({2, 2});
    x = norm2(conv4(conv3(x).relu()).relu()).max_pool2d({2, 2});
    return linear(x.flatten(1));
  }
  void visit(nn::Visitor& visitor) {
    visitor("conv1", conv1), visitor("conv2", conv2), visitor("norm1", norm1);
    visitor("conv3", conv3), visitor("conv4", conv4), visitor("norm2", norm2);
    visitor("linear", linear);
  }
};

// The digits on the host, from which batches are picked.
struct Digits {
  std::vector<u8> images;
  std::vector<i32> labels;

  std::pair<Tensor, Tensor> batch(std::span<const u32> picked) const {
    std::vector<u8> pixels;
    std::vector<i32> names;
    for (u32 digit : picked) {
      const auto first = images.begin() + digit * 784;
      pixels.insert(pixels.end(), first, first + 784);
      names.push_back(labels[digit]);
    }
    const i64 count = static_cast<i64>(picked.size());
    return {Tensor::from_data(pixels, {count, 1, 28, 28}).cast(dtypes::f32) / 255,
            Tensor::from_data(names, {count})};
  }
};

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "data/mnist";
  const Digits digits{io::load_idx(folder + "/t10k-images-idx3-ubyte").to_vector<u8>(),
                      io::load_idx(folder + "/t10k-labels-idx1-ubyte").to_vector<i32>()};
  std::vector<u32> order(digits.labels.size());
  std::iota(order.begin(), order.end(), 0u);
  const std::span<u32> train = std::span(order).first(8000), held_out = std::span(order).last(2000);

  Tensor::manual_seed(1);
  std::mt19937 random(1);
  ConvNet net;
  nn::Adam optimizer(nn::parameters_of(net), 1e-3);
  std::vector<Tensor> also;  // computed in the same step: the norms' statistics, and the loss
  for (auto& [name, tensor] : nn::state_of(net))
    if (!tensor.is_leaf()) also.push_back(tensor);
  also.emplace_back();

  constexpr usize kBatch = 64;
  for (int epoch = 1; epoch <= 4; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    std::shuffle(train.begin(), train.end(), random);
    for (usize at = 0; at + kBatch <= train.size(); at += kBatch) {
      TrainingScope training;
      auto [images, labels] = digits.batch(train.subspan(at, kBatch));
      optimizer.zero_grad();
      also.back() = net(images).sparse_categorical_crossentropy(labels);
      also.back().backward();
      optimizer.step(also);
    }
    const f32 loss = also.back().item<f32>();
    NoGradScope no_grad;
    int correct = 0;
    for (usize at = 0; at < held_out.size(); at += 500) {
      auto [images, labels] = digits.batch(held_out.subspan(at, 500));
      correct += (net(images).argmax(1) == labels).sum().item<i32>();
    }
    const std::chrono::duration<f64> spent = std::chrono::steady_clock::now() - start;
    std::printf("epoch %d: loss %.4f, %d of 2000 held-out digits right, %.1f s\n", epoch, loss,
                correct, spent.count());
  }
} catch (const Error& error) {
  std::fprintf(stderr, "mnist: %s\n", error.what());
  return 1;
}
