// Random graphs of all kinds of operations: scheduled, compiled and run, against the direct
// evaluation of the same graph; on one device, and on several, laid out at random. A failure prints
// its seed: DOORBELL_SEED=n DOORBELL_GRAPHS=1 runs that one alone.
#include <cstdlib>

#include "conformance/graph_oracle.h"
#include "conformance/random_graph.h"
#include "core/eval/eval.h"
#include "core/uop/print.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

void check(u32 seed, const std::string& devices) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const Tensor tensor = conformance::random_graph(seed, 3 + static_cast<int>(seed % 12), devices);
  std::vector<double> expected;
  for (const core::ScalarValue& value : conformance::evaluate_tensor_graph(*tensor.uop())) {
    expected.push_back(value.as_float());
  }
  expect_values(tensor, expected, 1e-4, 1e-5);
  if (testing::Test::HasFailure())
    std::printf("%s\n", core::print_tensor_graph(*tensor.uop()).c_str());
}

u32 setting(const char* name, u32 otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<u32>(std::atoi(text));
}

TEST(RandomGraphs, MatchTheirDirectEvaluation) {
  const u32 first = setting("DOORBELL_SEED", 1), count = setting("DOORBELL_GRAPHS", 100);
  for (u32 seed = first; seed < first + count && !HasFailure(); ++seed) check(seed, "");
}

TEST(RandomGraphs, MatchOnSeveralDevices) {
  const u32 first = setting("DOORBELL_SEED", 1), count = setting("DOORBELL_GRAPHS", 60);
  for (u32 seed = first; seed < first + count && !HasFailure(); ++seed)
    check(seed, seed % 2 == 0 ? "CPU,CPU:1" : "CPU:2,CPU,CPU:1");
}

TEST(RandomGraphs, MatchOverMeshes) {
  const u32 first = setting("DOORBELL_SEED", 1), count = setting("DOORBELL_GRAPHS", 60);
  for (u32 seed = first; seed < first + count && !HasFailure(); ++seed)
    check(seed, "CPU,CPU:1,CPU:2,CPU:3");
}

}  // namespace
}  // namespace doorbell::test
