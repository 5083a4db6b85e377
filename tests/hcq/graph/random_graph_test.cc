// Random programs over several queues and devices against the same steps one after another.
#include <random>

#include <gtest/gtest.h>

#include "hcq/graph/graph.h"
#include "tests/hcq/support/kernels.h"

namespace doorbell::hcq {
namespace {

constexpr u64 kPrograms = 10'000;
constexpr usize kCells = 8, kBuffers = 5, kInputs = 2;

// buffers {out, a, b}: out = 3 out + a - b + variable, in parts of four cells.
void mix(void* const* buffers, const i64* variables, i64 thread) {
  auto* out = static_cast<u64*>(buffers[0]);
  auto *a = static_cast<const u64*>(buffers[1]), *b = static_cast<const u64*>(buffers[2]);
  for (i64 i = thread * 4; i < thread * 4 + 4; ++i)
    out[i] = out[i] * 3 + a[i] - b[i] + static_cast<u64>(variables[0]);
}

void mix_whole(void* const* buffers, const i64* variables, i64) {
  mix(buffers, variables, 0);
  mix(buffers, variables, 1);
}

using Buffer = std::array<u64, kCells>;

struct Step {
  bool is_copy;
  usize queue;
  usize out, a, b;        // buffers; those from kBuffers on are inputs
  usize from, to, cells;  // of a copy
  bool symbolic;          // the variable comes with the replay
  u64 variable;
};

struct World {
  explicit World(u64 seed) : random(seed) {
    cpu::Options options;
    options.workers = *cpu::make_workers(2);
    // All ways of running: inline or handed over, wrapping soon or never.
    options.inline_ns = seed % 3 == 0 ? 0 : 10'000;
    options.timeline_limit = seed % 2 == 0 ? 20 : Timeline::kLimit;
    for (int d = 0; d < 3; ++d) {
      devices.push_back(testing::make_cpu(d, options));
      programs.push_back(testing::load(*devices.back(), "mix", mix_whole, 3, 1));
      programs.push_back(testing::load(*devices.back(), "mix", mix, 3, 1, 2));
      queues.push_back(&devices.back()->compute_queue());
      queues.push_back(&devices.back()->copy_queue());
    }
  }
  std::mt19937_64 random;
  std::vector<std::unique_ptr<cpu::CpuDevice>> devices;
  std::vector<std::unique_ptr<core::Program>> programs;
  std::vector<Queue*> queues;
};

std::vector<Step> make_steps(World& world) {
  std::mt19937_64& random = world.random;
  std::vector<Step> steps(1 + random() % 12);
  for (Step& step : steps) {
    step.is_copy = random() % 3 == 0;
    step.queue = random() % world.queues.size();
    step.out = random() % kBuffers;
    step.a = random() % (kBuffers + kInputs);
    step.b = random() % (kBuffers + kInputs);
    // A copy of part of a buffer to part of another one.
    step.cells = 1 + random() % kCells;
    step.from = random() % (kCells - step.cells + 1);
    step.to = random() % (kCells - step.cells + 1);
    if (step.is_copy && step.a == step.out) step.a = (step.a + 1) % kBuffers;
    step.symbolic = random() % 2 == 0;
    step.variable = random() % 100;
  }
  return steps;
}

void run_in_order(const std::vector<Step>& steps, std::array<Buffer, kBuffers>& buffers,
                  const std::array<Buffer*, kInputs>& inputs, u64 variable) {
  auto at = [&](usize i) -> Buffer& { return i < kBuffers ? buffers[i] : *inputs[i - kBuffers]; };
  for (const Step& step : steps) {
    Buffer& out = at(step.out);
    const Buffer &a = at(step.a), &b = at(step.b);
    if (step.is_copy) {
      for (usize i = 0; i < step.cells; ++i) out[step.to + i] = a[step.from + i];
      continue;
    }
    const u64 addend = step.symbolic ? variable : step.variable;
    for (usize i = 0; i < kCells; ++i) out[i] = 3 * out[i] + a[i] - b[i] + addend;
  }
}

void record(World& world, const std::vector<Step>& steps, std::array<Buffer, kBuffers>& buffers,
            Graph* graph) {
  const Operand inputs[kInputs] = {graph->slot(), graph->slot()}, variable = graph->slot();
  u32 storages[kBuffers + kInputs];
  for (u32& storage : storages) storage = graph->storage();
  auto part = [&](usize i, usize cell, usize cells) {
    const Operand whole =
        i < kBuffers ? Operand(testing::address(&buffers[i][cell])) : inputs[i - kBuffers];
    return graph->memory(storages[i], cell * 8, cells * 8, whole);
  };
  for (const Step& step : steps) {
    Queue& queue = *world.queues[step.queue];
    if (step.is_copy) {
      // Inputs have one address, so that their copies begin at their start.
      const usize from = step.a < kBuffers ? step.from : 0;
      graph->copy(queue, part(step.out, step.to, step.cells), part(step.a, from, step.cells),
                  step.cells * 8);
      continue;
    }
    const usize device = step.queue / 2, threads = step.variable % 2;
    graph->exec(queue, {world.programs[device * 2 + threads].get(),
                        "mix",
                        {{part(step.out, 0, kCells), Access::Write},
                         {part(step.a, 0, kCells), Access::Read},
                         {part(step.b, 0, kCells), Access::Read}},
                        {step.symbolic ? variable : Operand(step.variable)}});
  }
}

TEST(RandomGraph, EqualsTheSameStepsInOrder) {
  std::unique_ptr<World> world;
  for (u64 seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 500 == 0) world = std::make_unique<World>(seed / 500);
    world->random.seed(seed);
    std::vector<Step> steps = make_steps(*world);
    for (Step& step : steps)
      if (step.a >= kBuffers) step.from = 0;
    std::array<Buffer, kBuffers> buffers, expected;
    std::array<Buffer, 4> inputs;
    for (Buffer& buffer : buffers)
      for (u64& cell : buffer) cell = world->random();
    for (Buffer& buffer : inputs)
      for (u64& cell : buffer) cell = world->random();
    expected = buffers;
    Graph graph({.join = seed % 5 == 0});
    record(*world, steps, buffers, &graph);
    ASSERT_OK(graph.bind());
    Fence done;
    const u64 runs = 1 + seed % 4;
    for (u64 run = 0; run < runs; ++run) {
      const std::array<Buffer*, kInputs> given = {&inputs[world->random() % 4],
                                                  &inputs[world->random() % 4]};
      const u64 variable = world->random() % 1000;
      const u64 values[] = {testing::address(given[0]), testing::address(given[1]), variable};
      auto fence = graph.replay(values);
      ASSERT_OK(fence);
      done = *fence;
      run_in_order(steps, expected, given, variable);
    }
    ASSERT_OK(done.wait());
    ASSERT_EQ(buffers, expected);
  }
}

}  // namespace
}  // namespace doorbell::hcq
