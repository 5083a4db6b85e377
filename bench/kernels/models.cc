// Whole models: forward for one image or token, and training steps.
#include <memory>

#include "bench/kernels/workloads.h"
#include "bench/models/gpt.h"
#include "bench/models/mobilenet.h"
#include "bench/models/train.h"

namespace doorbell::bench {
namespace {

using nlohmann::json;

// Two per multiply-add of a forward pass for one image of 224 x 224, as their papers count.
constexpr f64 kResNet18Flops = 2 * 1.814e9, kResNet50Flops = 2 * 4.089e9;
constexpr f64 kMobileNetFlops = 2 * 0.3008e9;

struct ImageModel {
  const char* what;
  f64 flops;
  std::function<Tensor(const Tensor&)> (*make)(std::vector<Tensor>* parameters);
};

// shared_ptr: by the copies of the function.
template <class Model>
std::function<Tensor(const Tensor&)> make_model(std::vector<Tensor>* parameters) {
  auto model = std::make_shared<Model>();
  *parameters = nn::parameters_of(*model);
  return [model](const Tensor& x) { return (*model)(x); };
}

constexpr ImageModel kImageModels[] = {
    {"resnet18", kResNet18Flops, make_model<ResNet18>},
    {"resnet50", kResNet50Flops, make_model<ResNet50>},
    {"mobilenet v2", kMobileNetFlops, make_model<MobileNetV2>},
};

std::function<void()> training(std::shared_ptr<nn::Optimizer> optimizer,
                               std::function<Tensor()> loss_of) {
  return [optimizer = std::move(optimizer), loss_of = std::move(loss_of)] {
    TrainingScope scope;
    optimizer->zero_grad();
    const Tensor loss = loss_of();
    loss.backward();
    optimizer->step({loss});
  };
}

KernelRun image_model(const ImageModel& m, i64 batch, i64 side, bool trains) {
  std::vector<Tensor> parameters;
  auto model = m.make(&parameters);
  const Tensor x = random_input({batch, 3, side, side});
  const f64 flops = m.flops * static_cast<f64>(batch) * (trains ? 3 : 1);
  if (!trains) {
    Tensor::realize(parameters);  // no call pays for the weights
    return {{flops, 0}, [=] {
              NoGradScope no_grad;
              model(x).realize();
            }};
  }
  const Tensor labels = Tensor::randint(0, 1000, {batch}).realize();
  auto optimizer = std::make_shared<nn::SGD>(parameters, 0.01, nn::SGDOptions{.momentum = 0.9});
  return {{flops, 0},
          training(optimizer, [=] { return model(x).sparse_categorical_crossentropy(labels); })};
}

struct GptTask {
  GptSizes sizes;
  i64 batch = 1, length = 1, past = 0;
  bool trains = false;
};

KernelRun gpt_run(const GptTask& t) {
  auto model = std::make_shared<Gpt>(t.sizes);
  const GptSizes& s = t.sizes;
  const Shape numbers_shape{t.batch, t.length};
  const Tensor numbers = Tensor::randint(0, s.vocabulary, numbers_shape).realize();
  f64 weights = static_cast<f64>(s.vocabulary * s.width);
  weights += static_cast<f64>(12 * s.layers * s.width * s.width);
  const f64 tokens = static_cast<f64>(t.batch * t.length);
  if (t.trains) {
    const Tensor labels = Tensor::randint(0, s.vocabulary, numbers_shape).realize();
    auto optimizer = std::make_shared<nn::AdamW>(nn::parameters_of(*model));
    return {{6 * weights * tokens, 0}, training(optimizer, [=] {
              return model->all_logits(numbers).sparse_categorical_crossentropy(labels);
            })};
  }
  Tensor::realize(nn::parameters_of(*model));
  std::vector<GptCache> caches;
  const Shape shape{t.batch, s.heads, t.past, s.width / s.heads};
  for (i64 i = 0; t.past > 0 && i < s.layers; ++i)
    caches.push_back({random_input(shape), random_input(shape)});
  const i64 past = t.past;
  return {{2 * weights * tokens, 4 * weights, true}, [=] {
            NoGradScope no_grad;
            (*model)(numbers, caches, past).realize();
          }};
}

void add_gpt(std::string name, const GptTask& t, std::vector<KernelWorkload>* list) {
  json task{{"kind", "gpt"},
            {"layers", t.sizes.layers},
            {"width", t.sizes.width},
            {"heads", t.sizes.heads},
            {"vocabulary", t.sizes.vocabulary},
            {"context", t.sizes.context},
            {"batch", t.batch},
            {"length", t.length},
            {"past", t.past},
            {"training", t.trains}};
  list->push_back({std::move(name), std::move(task), [t] { return gpt_run(t); }});
}

void add_image_model(const ImageModel& m, i64 batch, bool trains, bool smoke,
                     std::vector<KernelWorkload>* list) {
  const i64 side = smoke ? 32 : 224;
  list->push_back(
      {trains ? fmt::format("{} training step, SGD, bs {}", m.what, batch)
              : fmt::format("{} bs {}", m.what, batch),
       {{"kind", "image model"}, {"what", m.what}, {"batch", batch}, {"training", trains}},
       [&m, batch = smoke ? 1 : batch, side, trains] {
         return image_model(m, batch, side, trains);
       }});
}

// The convnet's arithmetic: forward, and twice that backward.
KernelRun mnist(i64 images, i64 batch) {
  constexpr f64 kForwardPerImage = 2.0 * (24 * 24 * 32 * 25.0 + 20 * 20 * 32 * 32 * 25.0 +
                                          8 * 8 * 64 * 32 * 9.0 + 6 * 6 * 64 * 64 * 9.0 + 5760.0);
  auto step = std::make_shared<MnistStep>(images, batch);
  step->start();
  return {{3 * kForwardPerImage * static_cast<f64>(batch), 0},
          [step] { Tensor::realize(step->build()); }};
}

}  // namespace

void add_models(bool smoke, std::vector<KernelWorkload>* list) {
  for (const ImageModel& m : kImageModels) add_image_model(m, 1, false, smoke, list);
  add_image_model(kImageModels[0], 16, true, smoke, list);
  const i64 images = smoke ? 64 : 8000, batch = smoke ? 8 : 512;
  list->push_back({"MNIST convnet step, Adam, bs 512",
                   {{"kind", "mnist"}, {"images", images}, {"batch", batch}},
                   [=] { return mnist(images, batch); }});
  // Characters of text, as the small models of nanoGPT.
  GptSizes characters{6, 384, 6, 65, 256}, small;
  if (smoke) characters.layers = 1, small = {1, 64, 2, 100, 64};
  const i64 length = smoke ? 8 : 256;
  add_gpt("transformer 6x384 training step, AdamW, 8x256 tokens",
          {characters, smoke ? 1 : 8, length, 0, true}, list);
  add_gpt("GPT-2 small, 1 token, 127 cached", {small, 1, 1, smoke ? 7 : 127, false}, list);
  add_gpt("GPT-2 small, 128 tokens", {small, 1, smoke ? 8 : 128, 0, false}, list);
}

}  // namespace doorbell::bench
