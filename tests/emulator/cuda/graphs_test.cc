// Graphs' bookkeeping; kernels in them are tests/drivers/cuda_emulated's.
#include "tests/emulator/cuda/api_test.h"

namespace doorbell::emu::cuda {
namespace {

TEST_F(ApiTest, NodesDependOnNodesOfTheirGraph) {
  Handle first = 0, second = 0, a = 0, b = 0;
  ASSERT_EQ(cuGraphCreate(&first, 0), kSuccess);
  ASSERT_EQ(cuGraphCreate(&second, 0), kSuccess);
  ASSERT_EQ(cuGraphAddEmptyNode(&a, first, nullptr, 0), kSuccess);
  EXPECT_EQ(cuGraphAddEmptyNode(&b, first, &a, 1), kSuccess);
  EXPECT_EQ(cuGraphAddEmptyNode(&b, second, &a, 1), kInvalidValue);
  EXPECT_EQ(count(kGraphNode), 1u);
}

TEST_F(ApiTest, AnExecutableGraphOutlivesItsGraph) {
  Handle graph = 0, node = 0, executable = 0;
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  ASSERT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), kSuccess);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), kSuccess);
  ASSERT_EQ(cuGraphDestroy(graph), kSuccess);
  EXPECT_EQ(cuGraphDestroy(graph), kInvalidHandle);
  const Handle queue = stream();
  EXPECT_EQ(cuGraphLaunch(executable, queue), kSuccess);
  EXPECT_EQ(cuStreamSynchronize(queue), kSuccess);
  EXPECT_EQ(cuGraphExecDestroy(executable), kSuccess);
  EXPECT_EQ(cuGraphLaunch(executable, queue), kInvalidHandle);
}

TEST_F(ApiTest, OnlyKernelNodesHaveArguments) {
  Handle graph = 0, node = 0, executable = 0;
  ASSERT_EQ(cuGraphCreate(&graph, 0), kSuccess);
  ASSERT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 0), kSuccess);
  ASSERT_EQ(cuGraphInstantiateWithFlags(&executable, graph, 0), kSuccess);
  const KernelNodeParams parameters{};
  EXPECT_EQ(cuGraphExecKernelNodeSetParams_v2(executable, node, &parameters), kInvalidValue);
  EXPECT_EQ(count(kGraphNode), 1u);
  Handle added = 0;
  EXPECT_EQ(cuGraphAddKernelNode_v2(&added, graph, nullptr, 0, &parameters), kInvalidHandle);
  EXPECT_EQ(count(kHandle), 1u);
}

TEST_F(ApiTest, ImagesThatAreNoCubinsAreRefused) {
  const char text[128] = ".version 8.0\n.target sm_90\n";
  Handle module = 0;
  EXPECT_EQ(cuModuleLoadData(&module, text), kInvalidImage);
  EXPECT_NE(driver()->last_fault.find("PTX"), std::string::npos) << driver()->last_fault;
}

}  // namespace
}  // namespace doorbell::emu::cuda
