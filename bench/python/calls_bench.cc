// Calls of the tensor API as C++ makes them, by the names under which overhead.py makes them from
// Python: the difference is the overhead of the module.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/doorbell.h"

namespace doorbell {
namespace {

struct Call {
  const char* name;
  std::function<void()> run;
};

std::vector<Call> calls() {
  const Tensor a = Tensor::ones({8, 8}).contiguous(), b = Tensor::ones({8, 8}).contiguous();
  Tensor::realize({a, b});
  auto keep = [](const auto& made) { benchmark::DoNotOptimize(&made); };
  return {
      {"a.add(b)", [=] { keep(a.add(b)); }},
      {"a + 1", [=] { keep(a + 1); }},
      {"a.relu()", [=] { keep(a.relu()); }},
      {"a.sum(axis=0)", [=] { keep(a.sum(0)); }},
      {"a.sum(dim=(0, 1), keepdim=True)", [=] { keep(a.sum({0, 1}, {.keepdim = true})); }},
      {"a.reshape(4, 16)", [=] { keep(a.reshape({4, 16})); }},
      {"a.permute(1, 0)", [=] { keep(a.permute({1, 0})); }},
      {"a.transpose()", [=] { keep(a.transpose()); }},
      {"a.where_zero", [=] { keep((a > 0).where(a, 0)); }},
      {"a @ b", [=] { keep(a.matmul(b)); }},
      {"a.softmax()", [=] { keep(a.softmax()); }},
      {"a[0]", [=] { keep(a.at(std::vector<Index>{0})); }},
      {"a[1:, None]", [=] { keep(a.at(std::vector<Index>{Slice(1, None), None})); }},
      {"a.shape", [=] { keep(a.shape()); }},
      {"(a + b).realize()",
       [=] {
         const Tensor c = a + b;
         c.realize();
       }},
  };
}

}  // namespace
}  // namespace doorbell

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (const doorbell::Call& call : doorbell::calls())
    benchmark::RegisterBenchmark(call.name, [run = call.run](benchmark::State& state) {
      for (auto _ : state) run();
    });
  benchmark::RunSpecifiedBenchmarks();
}
