// Functions exported as C, built with the C compiler and run by themselves. What they must print is
// a literal, or what the function gave here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/process.h"
#include "runtime/doorbell.h"

namespace doorbell {
namespace {

namespace fs = std::filesystem;

class Export : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              fmt::format("doorbell_export_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string folder() const { return folder_.string(); }

  // What a C program prints whose main() has this body; it is built as C and as C++.
  std::string run_c(const std::string& body) {
    const std::string source = folder() + "/main.c", program = folder() + "/main";
    std::ofstream(source) << "#include \"net.h\"\n#include <stdio.h>\nint main(void) {\n"
                          << body << "return 0; }\n";
    std::string printed;
    for (const char* language : {"c", "c++"}) {
      const std::vector<std::string> build = {"cc",      "-x",   language, "-Wall", "-Wextra",
                                              "-Werror", source, "-x",     "none",  "-L" + folder(),
                                              "-lnet",   "-o",   program};
      Result<os::ProcessOutput> built = os::run_process(build);
      EXPECT_TRUE(built && built->exit_status == 0) << (built ? built->error_out : "no cc");
      const std::vector<std::string> command = {program};
      Result<os::ProcessOutput> ran = os::run_process(command);
      EXPECT_TRUE(ran && ran->exit_status == 0) << (ran ? ran->error_out : "does not start");
      if (!ran) return "";
      if (language[1] != 0) {
        EXPECT_EQ(ran->out, printed);
      }
      printed = ran->out;
    }
    return printed;
  }
  std::string weights() const { return folder() + "/net.safetensors"; }

 private:
  fs::path folder_;
};

std::string error_of(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message;
  }
  return "no error";
}

TEST_F(Export, ANetworkGivesTheSameNumbers) {
  struct Net {
    nn::Linear first{8, 32}, second{32, 3};
    void visit(nn::Visitor& visitor) {
      visitor("first", first);
      visitor("second", second);
    }
  } net;
  auto predict = jit([&](const Tensor& x) { return net.second(net.first(x).relu()).softmax(); });
  std::vector<f32> numbers(16);
  for (usize i = 0; i < 16; ++i) numbers[i] = static_cast<f32>(i) / 7 - 1;
  const Tensor x = Tensor::from_data(numbers, {2, 8});
  predict(x);
  const std::vector<f32> want = predict(x).to_vector<f32>();
  predict.export_c({.folder = folder(),
                    .name = "net",
                    .arguments = {"x"},
                    .results = {"chances"},
                    .weights = nn::state_of(net)});

  const nn::NamedTensors stored = io::load_safetensors(weights()).tensors;
  EXPECT_EQ(stored[0].second.to_vector<f32>(), net.first.weight.to_vector<f32>());
  EXPECT_EQ(stored[0].first, "first.weight");
  const std::string printed = run_c(fmt::format(R"c(
    net* n = net_open("{}");
    if (!n) {{ puts(net_error()); return 1; }}
    float x[16], out[6];
    for (int i = 0; i < 16; ++i) x[i] = (float)i / 7 - 1;
    if (net_run(n, x, out) != 0) return 2;
    for (int i = 0; i < 6; ++i) printf("%a ", out[i]);
    net_close(n);
  )c",
                                                weights()));
  std::string expected;
  for (f32 value : want) {
    char text[64];
    std::snprintf(text, sizeof text, "%a ", value);
    expected += text;
  }
  EXPECT_EQ(printed, expected);
}

TEST_F(Export, StateIsKeptFromCallToCall) {
  Tensor count = Tensor::zeros({}, {.dtype = dtypes::i32}), last = Tensor::zeros({2});
  count.realize(), last.realize();
  auto step = jit([&](const Tensor& x) {
    const Tensor before = last + 0;
    last.assign(x);
    count += 1;
    return std::pair(before, count + 0);
  });
  const Tensor x = Tensor::of({1.0, 2.0});
  step(x), step(x);
  step.export_c({.folder = folder(), .name = "net", .arguments = {"x"}});
  // Two calls were made here, so the third one is the first there.
  EXPECT_EQ(run_c(fmt::format(R"c(
    net* n = net_open("{}");
    if (!n) {{ puts(net_error()); return 1; }}
    for (int i = 0; i < 3; ++i) {{
      float x[2] = {{10.0f * (float)i, 5}}, before[2];
      int32_t count;
      net_run(n, x, before, &count);
      printf("%g %g %d; ", before[0], before[1], count);
    }}
    net_close(n);
  )c",
                              weights())),
            "1 2 3; 0 5 4; 10 5 5; ");
}

TEST_F(Export, ValuesThatChangePlacesAreNotMixedUp) {
  Tensor a = Tensor::of({1, 2}), b = Tensor::of({3, 4});
  auto swap = jit([&](const Tensor& x) {
    const Tensor old = a.clone();
    a.assign(b.clone());
    b.assign(old);
    return x + a;
  });
  const Tensor x = Tensor::of({0, 0});
  swap(x), swap(x);  // now as it began
  swap.export_c({.folder = folder(), .name = "net"});
  EXPECT_EQ(run_c(fmt::format(R"c(
    net* n = net_open("{}");
    if (!n) {{ puts(net_error()); return 1; }}
    int32_t zero[2] = {{0, 0}}, out[2];
    for (int i = 0; i < 2; ++i) {{
      net_run(n, zero, out);
      printf("%d %d; ", out[0], out[1]);
    }}
    net_close(n);
  )c",
                              weights())),
            "3 4; 1 2; ");
}

TEST_F(Export, SizesAreArguments) {
  const Variable n("n", 1, 8);
  const Tensor table = Tensor::arange(8).realize();
  auto total = jit([&](const Size& size) { return table.shrink({{0, size}}).sum(); });
  total(n.bind(2)), total(n.bind(3));
  total.export_c({.folder = folder(), .name = "net"});
  EXPECT_EQ(run_c(fmt::format(R"c(
    net* self = net_open("{}");
    if (!self) {{ puts(net_error()); return 1; }}
    for (int i = 1; i <= 8; ++i) {{
      int32_t out;
      net_run(self, i, &out);
      printf("%d ", out);
    }}
    net_close(self);
  )c",
                              weights())),
            "0 1 3 6 10 15 21 28 ");
}

TEST_F(Export, WeightsThatDoNotFitAreRefused) {
  const Tensor w = Tensor::of({1.0, 2.0}).realize();
  auto scale = jit([&](const Tensor& x) { return x * w; });
  const Tensor x = Tensor::of({3.0, 4.0});
  scale(x), scale(x);
  scale.export_c({.folder = folder(), .name = "net", .weights = {{"w", w}}});
  const auto opened = [&](const std::string& path) {
    return run_c(fmt::format(R"c(
      net* n = net_open("{}");
      printf("%s", n ? "opened" : net_error());
      net_close(n);
    )c",
                             path));
  };
  EXPECT_EQ(opened(weights()), "opened");
  EXPECT_EQ(opened(folder() + "/none"), fmt::format("cannot open '{}/none'", folder()));
  const std::string other = folder() + "/other.safetensors";
  io::save_safetensors(other, {{"v", w}});
  EXPECT_EQ(opened(other), "the weights have no tensor 'w'");
  io::save_safetensors(other, {{"w", Tensor::of({1.0, 2.0, 3.0})}});
  EXPECT_EQ(opened(other), "tensor 'w' has 12 bytes");
  io::save_safetensors(other, {{"w", Tensor::of({1, 2})}});
  EXPECT_EQ(opened(other), "tensor 'w' has another dtype");
  fs::resize_file(weights(), fs::file_size(weights()) - 1);
  EXPECT_EQ(opened(weights()), "the weights end within tensor 'w'");
  fs::resize_file(weights(), 20);
  EXPECT_EQ(opened(weights()), "the weights end in their header");
}

TEST_F(Export, WhatCannotBeExportedIsRefusedByName) {
  const ExportOptions here{.folder = folder(), .name = "net"};
  const Tensor x = Tensor::of({1.0, 2.0});
  auto plain = jit([](const Tensor& x) { return x * 2; });
  EXPECT_EQ(error_of([&] { plain.export_c(here); }),
            "export of a jitted function that is not captured yet: the second call does that");
  plain(x), plain(x);
  EXPECT_EQ(error_of([&] { plain.export_c({.folder = folder(), .name = "a-b"}); }),
            "name 'a-b' of an export is no C identifier");
  EXPECT_EQ(error_of([&] {
              plain.export_c({.folder = folder(), .name = "net", .arguments = {"x", "y"}});
            }),
            "names for 2 arguments and 0 results of an export that has 1 and 1");
  EXPECT_EQ(error_of([&] {
              plain.export_c({.folder = folder(), .name = "net", .arguments = {"result0"}});
            }),
            "result 'result0' of an export is there twice");
  auto random = jit([](const Tensor& x) { return x + Tensor::rand({2}); });
  random(x), random(x);
  EXPECT_EQ(error_of([&] { random.export_c(here); }),
            "cannot export a function that draws random numbers");
  Tensor w = Tensor::of({1.0, 2.0}, {.requires_grad = true});
  auto learn = jit([&](const Tensor& x) {
    w.zero_grad();
    const Tensor loss = (w * x).sum();
    loss.backward();
    return loss;
  });
  learn(x), learn(x);
  EXPECT_EQ(error_of([&] { learn.export_c(here); }),
            "cannot export a function that leaves gradients behind");
}

}  // namespace
}  // namespace doorbell
