// `doorbell demo`: trains a small convolutional network on handwritten digits and prints accuracy
// and speed. For the data see digits.h, for the training train.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "core/device/counters.h"
#include "runtime/progress_bar.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/open_device.h"
#include "tools/doorbell/train.h"
#include "tools/measure/measure.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string mnist, device, devices;
  int epochs = 0, steps = 0;  // 0: not given
  usize batch = 0;
  u64 seed = 1;
  f64 rate = 2e-3;
};

// On a terminal a bar; elsewhere a line per second, so that a log stays short.
class Progress {
 public:
  Progress(int epochs, usize steps)
      : epochs_(epochs), steps_(steps), bar_(static_cast<i64>(steps)) {}

  // Whether to print now: not every step, because reading a loss waits for the device.
  bool due() const { return now() - told_ >= (bar_.is_shown() ? 0.1 : 1.0); }

  // step: counted over all epochs, as the constructor's `steps`.
  void tell(int epoch, usize step, f64 loss, f64 ms_per_step) {
    told_ = now();
    const std::string what = fmt::format("epoch {}/{}", epoch, epochs_);
    const std::string how = fmt::format("loss {:.4f}  {:.0f} ms/step", loss, ms_per_step);
    if (bar_.is_shown())
      bar_.tell(static_cast<i64>(step), fmt::format("{}  {}", what, how));
    else
      fmt::print(stderr, "{}  step {:>4}/{}  {}\n", what, step, steps_, how);
  }

  void clear() { bar_.clear(); }

 private:
  int epochs_;
  usize steps_;
  runtime::ProgressBar bar_;
  f64 told_ = 0;
};

// The time of the steps after the first, which compiles.
struct Spent {
  i64 steps = 0, kernels = 0, flops = 0;
  f64 seconds = 0, first_seconds = 0;

  void add(f64 step_seconds, i64 step_kernels, i64 step_flops) {
    if (first_seconds == 0) {
      first_seconds = step_seconds;
      return;
    }
    ++steps;
    seconds += step_seconds;
    kernels += step_kernels;
    flops += step_flops;
  }
  f64 ms_per_step() const {
    return steps > 0 ? seconds * 1e3 / static_cast<f64>(steps) : first_seconds * 1e3;
  }
};

struct Schedule {
  int epochs;
  usize batch, steps_per_epoch, steps;  // steps: of all epochs, cut short by --steps
};

Schedule plan(const Options& options, const Digits& digits) {
  const bool is_full = !options.mnist.empty();
  Schedule schedule;
  schedule.batch = options.batch != 0 ? options.batch : (is_full ? 256 : 64);
  if (schedule.batch > digits.train.size())
    throw fail(ErrorKind::Invalid, "a batch of {} digits out of {}", schedule.batch,
               digits.train.size());
  schedule.steps_per_epoch = digits.train.size() / schedule.batch;
  schedule.epochs = options.epochs != 0 ? options.epochs : (is_full ? 2 : 4);
  schedule.steps = schedule.steps_per_epoch * static_cast<usize>(schedule.epochs);
  if (options.steps != 0) {
    schedule.steps = static_cast<usize>(options.steps);
    schedule.epochs = static_cast<int>((schedule.steps - 1) / schedule.steps_per_epoch) + 1;
  }
  return schedule;
}

void print_accuracy(const char* when, Trainer& trainer, const DigitSet& held_out, f64 seconds) {
  const i64 correct = trainer.count_correct(held_out);
  const f64 percent = 100.0 * static_cast<f64>(correct) / static_cast<f64>(held_out.size());
  fmt::print("{}: {} of {} held-out digits right, {:.2f} %, after {:.1f} s\n", when, correct,
             held_out.size(), percent, seconds);
  std::fflush(stdout);
}

// The learning rate falls linearly to zero, so that the last steps settle.
f64 rate_at(const Options& options, usize step, usize steps) {
  return options.rate * (1 - static_cast<f64>(step) / static_cast<f64>(steps));
}

void train(const Options& options, const Schedule& schedule, const Digits& digits,
           Trainer& trainer) {
  Shuffle shuffle(digits.train.size(), options.seed);
  Progress progress(schedule.epochs, schedule.steps);
  Spent spent;
  f64 loss = 0;
  const f64 start = now();
  usize done = 0;
  for (int epoch = 1; epoch <= schedule.epochs; ++epoch) {
    const std::span<const u32> order = shuffle.next_epoch();
    for (usize step = 0; step < schedule.steps_per_epoch && done < schedule.steps; ++step, ++done) {
      const i64 kernels = core::counters.kernels.load(), flops = core::counters.flops.load();
      const f64 begin = now();
      trainer.set_learning_rate(rate_at(options, done, schedule.steps));
      const Tensor value =
          trainer.step(digits.train, order.subspan(step * schedule.batch, schedule.batch));
      const bool is_last = step + 1 == schedule.steps_per_epoch || done + 1 == schedule.steps;
      const bool is_told = progress.due() || is_last || done == 0;
      if (is_told) loss = value.item<f32>();
      spent.add(now() - begin, core::counters.kernels.load() - kernels,
                core::counters.flops.load() - flops);
      if (is_told) progress.tell(epoch, done + 1, loss, spent.ms_per_step());
    }
    progress.clear();
    print_accuracy(fmt::format("epoch {}, loss {:.4f}", epoch, loss).c_str(), trainer,
                   digits.held_out, now() - start);
  }
  if (spent.steps == 0) return;
  fmt::print(
      "{:.1f} ms per step of {} digits, {} kernels per step, {:.1f} GFLOPS; the first step, "
      "which compiles, {:.0f} ms\n",
      spent.ms_per_step(), schedule.batch, spent.kernels / spent.steps,
      static_cast<f64>(spent.flops) / spent.seconds * 1e-9, spent.first_seconds * 1e3);
}

int run(const Options& options) {
  const core::Device& device = open_device(options.device);
  if (!device.runs())
    throw fail(ErrorKind::Unsupported, "{} compiles and runs nothing, so nothing can be learnt",
               device.name());
  const Digits digits =
      options.mnist.empty() ? load_shipped_digits() : load_all_digits(options.mnist);
  const Schedule schedule = plan(options, digits);
  Tensor::manual_seed(options.seed);
  const Devices devices(options.devices.empty() ? device.name() : options.devices);
  Trainer trainer(options.rate, devices);
  fmt::print(
      "A convolutional network of {} weights learns handwritten digits.\n"
      "  device  {}: {}\n"
      "  digits  {} to learn from, {} held out; {}\n"
      "  steps   {} of {} digits, {} epochs, Adam at {} falling to 0, seed {}\n\n",
      trainer.weight_count(), fmt::join(devices.names(), ", "), device.description(),
      digits.train.size(), digits.held_out.size(), digits.folder, schedule.steps, schedule.batch,
      schedule.epochs, options.rate, options.seed);
  std::fflush(stdout);
  train(options, schedule, digits, trainer);
  return 0;
}

}  // namespace

void add_demo(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("demo", "Train a small network on handwritten digits");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--mnist", options->mnist,
                      "A folder with the four files of MNIST, .gz or not: train on all of it");
  CLI::Option* epochs = command->add_option("--epochs", options->epochs, "Times through the digits")
                            ->check(CLI::Range(1, 1000));
  command->add_option("--steps", options->steps, "Steps, instead of epochs")
      ->check(CLI::Range(1, 1000000))
      ->excludes(epochs);
  command->add_option("--batch", options->batch, "Digits per step")->check(CLI::Range(2, 60000));
  command->add_option("--rate", options->rate, "Learning rate of the first step")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--seed", options->seed, "The same seed gives the same run");
  command->add_option("--device", options->device, "Where to run, as DEV says it: CPU:CLANG");
  command->add_option("--devices", options->devices,
                      "Several that share each batch: CPU,CPU:1,CPU:2,CPU:3");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
