// A GPU dies while queues of others wait for it. Their waits pass, since hardware only compares;
// their work is never reported as a success, and they continue.
#include "hcq/graph/graph.h"
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

using Values = std::array<u32, 32>;

struct DeadPeerTest : EmulatedTest, ::testing::WithParamInterface<Options::Packets> {
  hcq::Signal go;
  std::unique_ptr<AmdDevice> first, second;
  std::unique_ptr<core::Program> faulting, working;
  Ref<Buffer> a, b;

  void start(bool adversarial) {
    boot({.gpus = {"gfx1100", "gfx1100"}, .adversarial = adversarial});
    first = open(0, {.packets = GetParam()});
    second = open(1, {.packets = GetParam()});
    go = *kfd->signals().make();
    faulting = *first->load(compiled_kernel());
    working = *second->load(compiled_kernel());
    a = *Buffer::allocate(*second, sizeof(Values));
    b = *Buffer::allocate(*second, sizeof(Values));
  }
  void TearDown() override {
    a = {};
    b = {};
    faulting.reset();
    working.reset();
  }
  // On the first GPU: a kernel that faults once the host says go, and what is behind it.
  hcq::Point submit_fault() {
    hcq::Queue& queue = first->compute_queue();
    auto commands = queue.make_commands();
    commands->wait(go.address(), 1);
    const hcq::Operand nowhere[] = {u64{0x1000}, u64{0x2000}};
    commands->exec({.program = faulting.get(), .buffers = nowhere});
    return *queue.submit(*commands);
  }
  void expect_first_lost() {
    const Result<void> done = first->synchronize();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
    EXPECT_EQ(done.error().device, "AMD");
  }
  static void expect_waited(const Result<void>& done, const std::string& beginning) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::DeviceLost);
    EXPECT_EQ(done.error().device, "AMD:1");
    EXPECT_TRUE(done.error().message.starts_with(beginning)) << done.error().message;
    EXPECT_NE(done.error().message.find("AMD: memory fault at 0x1000"), std::string::npos)
        << done.error().message;
  }
  void expect_second_works() {
    Values in, out{};
    for (u32 i = 0; i < in.size(); ++i) in[i] = i;
    ASSERT_TRUE(a->copy_in(in.data(), sizeof in));
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
    ASSERT_TRUE(working->launch(views, {}));
    ASSERT_TRUE(b->copy_out(out.data(), sizeof out));
    for (u32 i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i + 7);
    EXPECT_TRUE(second->synchronize());
  }
};

TEST_P(DeadPeerTest, WorkThatWaitedForItFails) {
  for (const bool adversarial : {false, true}) {
    start(adversarial);
    const hcq::Point fault = submit_fault();
    // A kernel behind the fault, and a copy behind that.
    hcq::Queue &compute = second->compute_queue(), &copy = second->copy_queue();
    auto kernel = compute.make_commands();
    const hcq::Operand buffers[] = {u64{a->memory().address}, u64{b->memory().address}};
    kernel->exec({.program = working.get(), .buffers = buffers});
    const hcq::Point ran = *compute.submit(*kernel, hcq::Fence(fault));
    auto copies = copy.make_commands();
    copies->copy(a->memory().address, b->memory().address, sizeof(Values));
    const hcq::Point copied = *copy.submit(*copies, hcq::Fence(ran));
    go.store(1);
    expect_first_lost();
    const std::string waited = fmt::format(
        "AMD:1 compute queue waited before position {} for position {} of the AMD compute queue, "
        "but: ",
        ran.position, fault.position);
    expect_waited(compute.wait(ran.position), waited);
    expect_waited(copy.wait(copied.position),
                  fmt::format("AMD:1 copy queue waited before position {} for position {} of the "
                              "AMD:1 compute queue, but: {}",
                              copied.position, ran.position, waited));
    // Nor may anything be read.
    Values out{};
    EXPECT_FALSE(b->copy_out(out.data(), sizeof out));
    expect_waited(second->synchronize(), waited);
    expect_second_works();
    TearDown();
    first.reset();
    second.reset();
  }
}

TEST_P(DeadPeerTest, WorkThatComesLaterDoesNotRun) {
  start(false);
  const hcq::Point fault = submit_fault();
  go.store(1);
  expect_first_lost();
  hcq::Queue& compute = second->compute_queue();
  auto commands = compute.make_commands();
  const Result<hcq::Point> refused = compute.submit(*commands, hcq::Fence(fault));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().device, "AMD:1");
  EXPECT_TRUE(refused.error().message.starts_with(
      fmt::format("AMD compute queue died before position {}: ", fault.position)))
      << refused.error().message;
  expect_second_works();
}

TEST_P(DeadPeerTest, WorkOnWhatItHadDoneIsRight) {
  start(false);
  hcq::Queue& queue = first->compute_queue();
  auto nothing = queue.make_commands();
  const hcq::Point before = *queue.submit(*nothing);
  const hcq::Point fault = submit_fault();
  hcq::Queue& compute = second->compute_queue();
  auto commands = compute.make_commands();
  ASSERT_TRUE(compute.submit(*commands, hcq::Fence(before)));
  ASSERT_TRUE(queue.wait(before.position));
  go.store(1);
  expect_first_lost();
  EXPECT_FALSE(queue.done(fault.position));
  ASSERT_TRUE(compute.submit(*commands, hcq::Fence(before)));
  EXPECT_TRUE(second->synchronize());
  expect_second_works();
}

TEST_P(DeadPeerTest, ARunOfAGraphOverBothFails) {
  start(false);
  u64 nowhere = 0x1000;
  hcq::Graph graph;
  const hcq::Operand address = graph.slot();
  const u32 bad = graph.memory(graph.storage(), 0, sizeof(Values), address);
  const u32 shared = graph.memory(graph.storage(), 0, sizeof(Values), *first->address_of(*a));
  const u32 result = graph.memory(graph.storage(), 0, sizeof(Values), b->memory().address);
  graph.exec(first->compute_queue(),
             {.program = faulting.get(),
              .name = "faulting",
              .buffers = {{bad, hcq::Access::Read}, {shared, hcq::Access::Write}}});
  graph.exec(second->compute_queue(),
             {.program = working.get(),
              .name = "working",
              .buffers = {{shared, hcq::Access::Read}, {result, hcq::Access::Write}}});
  ASSERT_TRUE(graph.bind());
  const Result<hcq::Fence> run = graph.replay({&nowhere, 1});
  ASSERT_TRUE(run) << run.error().message;
  expect_first_lost();
  expect_waited(second->synchronize(),
                "AMD:1 compute queue waited before position 1 for position ");
  expect_second_works();
}

INSTANTIATE_TEST_SUITE_P(Queues, DeadPeerTest,
                         ::testing::Values(Options::Packets::Pm4, Options::Packets::Aql),
                         [](const auto& info) {
                           return info.param == Options::Packets::Aql ? "Aql" : "Pm4";
                         });

}  // namespace
}  // namespace doorbell::amd
