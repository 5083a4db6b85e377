// Many queues of one process on one emulated GPU: more than the hardware has slots for, and more
// than the kernel gives.
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

struct QueuesTest : EmulatedTest, ::testing::WithParamInterface<bool> {
  // 40 compute queues on 8 slots, and 16 copy queues, as many devices of one GPU.
  void open_many() {
    for (int i = 0; i < 40; ++i) devices.push_back(open(0, {.sdma = i < 16}));
  }
  std::vector<std::unique_ptr<AmdDevice>> devices;
};

// Each queue waits for the next one's signal, and the first is submitted last: without turns no
// queue would end.
TEST_P(QueuesTest, ShareTheSlotsAndAllEnd) {
  boot({.gpus = {"gfx1030"}, .adversarial = GetParam(), .seed = 7});
  open_many();
  const hcq::Signal start = *kfd->signals().make();
  std::vector<hcq::Signal> reached;
  for (usize i = 0; i < devices.size(); ++i) reached.push_back(*kfd->signals().make());
  for (usize i = 0; i < devices.size(); ++i) {
    auto commands = devices[i]->compute_queue().make_commands();
    const hcq::Signal& before = i + 1 < devices.size() ? reached[i + 1] : start;
    commands->wait(before.address(), 1);
    commands->signal(reached[i].address(), 1);
    ASSERT_TRUE(devices[i]->compute_queue().submit(*commands));
  }
  EXPECT_FALSE(devices[0]->compute_queue().idle());
  // The copy queue of the first starts the last compute queue.
  auto commands = devices[0]->copy_queue().make_commands();
  commands->signal(start.address(), 1);
  ASSERT_TRUE(devices[0]->copy_queue().submit(*commands));
  for (const auto& device : devices) {
    const Result<void> done = device->synchronize();
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_EQ(reached[0].value(), 1u);
}

// A packet that went round the end of the ring would be AMD-SDMA-007, an error here.
TEST_P(QueuesTest, TheCopyQueueGoesRoundItsRing) {
  boot({.gpus = {"gfx1100"}, .adversarial = GetParam(), .seed = 9});
  auto device = open(0);
  const Ref<Buffer> buffer = *Buffer::allocate(*device, 4096);
  hcq::Queue& queue = device->copy_queue();
  auto commands = queue.make_commands();
  for (int i = 0; i < 700; ++i) commands->write(buffer->memory().address, 1);
  constexpr u64 kRingBytes = u64{1} << 20;  // packet_format.cc
  for (u64 sent = 0; sent < kRingBytes * 2; sent += commands->words().size_bytes())
    ASSERT_TRUE(queue.submit(*commands));
  const Result<void> done = device->synchronize();
  EXPECT_TRUE(done) << done.error().message;
  for (const emu::Report& report : machine->checks().reports()) ADD_FAILURE() << to_string(report);
}

// Commands and launches by turns, so that the ring's end comes anywhere in them: PM4 skips what is
// left of it, AQL goes on at the start.
TEST_P(QueuesTest, ComputeQueuesGoRoundTheirRings) {
  boot({.gpus = {"gfx1100"}, .adversarial = GetParam(), .seed = 10});
  for (const bool aql : {false, true}) {
    SCOPED_TRACE(aql ? "AQL" : "PM4");
    auto device = open(0, {.packets = aql ? Options::Packets::Aql : Options::Packets::Pm4});
    const auto program = *device->load(compiled_kernel());
    const Ref<Buffer> in = *Buffer::allocate(*device, 384), out = *Buffer::allocate(*device, 384);
    const core::BufferView views[] = {{in.get(), 0}, {out.get(), 0}};
    constexpr u64 kRingBytes = u64{1} << 20;         // packet_format.cc
    const u32 turns = aql ? kRingBytes / 256 : 160;  // some four or more packets, or 3,000 words
    for (u32 turn = 0; turn < turns; ++turn) {
      auto commands = device->compute_queue().make_commands();
      for (u32 i = 0; i < (aql ? 1 : 450); ++i)
        commands->write(in->memory().address, turn << 12 | i);
      ASSERT_TRUE(device->compute_queue().submit(*commands));
      ASSERT_TRUE(program->launch(views, {}));
    }
    u32 sum = 0;
    const Result<void> copied = out->copy_out(&sum, 4);
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(sum, ((turns - 1) << 12 | (aql ? 0 : 449)) + 7);
  }
  for (const emu::Report& report : machine->checks().reports()) ADD_FAILURE() << to_string(report);
}

TEST_P(QueuesTest, EachWorksOnItsOwnData) {
  boot({.gpus = {"gfx1030"}, .adversarial = GetParam(), .seed = 8});
  open_many();
  std::vector<Ref<Buffer>> from, to;
  std::vector<std::vector<u8>> bytes;
  constexpr i64 kBytes = 5000;
  for (usize i = 0; i < devices.size(); ++i) {
    bytes.emplace_back(kBytes, static_cast<u8>(i + 1));
    from.push_back(*Buffer::allocate(*devices[i], kBytes));
    to.push_back(*Buffer::allocate(*devices[i], kBytes));
    ASSERT_TRUE(from[i]->copy_in(bytes[i].data(), kBytes));
    auto commands = devices[i]->compute_queue().make_commands();
    commands->copy(to[i]->memory().address, from[i]->memory().address, kBytes);
    ASSERT_TRUE(devices[i]->compute_queue().submit(*commands));
  }
  for (usize i = 0; i < devices.size(); ++i) {
    std::vector<u8> got(kBytes);
    ASSERT_TRUE(to[i]->copy_out(got.data(), kBytes));
    EXPECT_EQ(got, bytes[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Machines, QueuesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Adversarial" : "Fast"; });

// 2 engines of a gfx1100 with 6 queues each; compute queues have turns, and no such limit.
TEST_F(EmulatedTest, CopyQueuesEndWhereTheKernelsDo) {
  std::vector<std::unique_ptr<AmdDevice>> devices;
  for (int i = 0; i < 12; ++i) devices.push_back(open(0));
  const Result<std::unique_ptr<KfdQueue>> refused =
      KfdQueue::make(devices[0]->gpu(), devices[0]->caps(), QueueType::Sdma, u64{1} << 16);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
  EXPECT_NE(refused.error().message.find("has no copy queue left: its 2 engines have 6 each"),
            std::string::npos)
      << refused.error().message;
  // A destroyed queue makes room for another.
  devices.erase(devices.begin());
  devices.push_back(open(0));
  EXPECT_NE(&devices.back()->copy_queue(), &devices.back()->compute_queue());
  EXPECT_TRUE(devices.back()->synchronize());
}

// Its buffers lie in the GPU's memory as ever, and the compute queue copies.
struct CopylessTest : EmulatedTest, ::testing::WithParamInterface<OneGpu> {};

TEST_P(CopylessTest, CopiesByTheComputeQueue) {
  boot({.gpus = {GetParam().gpu}, .adversarial = GetParam().adversarial, .seed = 5});
  std::unique_ptr<AmdDevice> first = open(0);
  std::vector<std::unique_ptr<KfdQueue>> all;
  while (Result<std::unique_ptr<KfdQueue>> queue =
             KfdQueue::make(first->gpu(), first->caps(), QueueType::Sdma, u64{1} << 16))
    all.push_back(std::move(*queue));
  ASSERT_GT(all.size(), 2u);
  const std::unique_ptr<AmdDevice> device = open(0);
  ASSERT_EQ(&device->copy_queue(), &device->compute_queue());
  // More than a packet copies, and no multiple of anything.
  constexpr usize kBytes = (usize{3} << 20) + 13;
  std::vector<u8> in(kBytes), out(kBytes);
  for (usize i = 0; i < kBytes; ++i) in[i] = static_cast<u8>(i * 7 + i / 251);
  const Ref<Buffer> a = *Buffer::allocate(*device, kBytes), b = *Buffer::allocate(*device, kBytes);
  for (int turn = 0; turn < 2; ++turn) {
    in[turn] ^= 0xff;
    ASSERT_TRUE(a->copy_in(in.data(), kBytes));
    ASSERT_TRUE(core::copy_between(*b, 0, *a, 0, kBytes));
    const Result<void> copied = b->copy_out(out.data(), kBytes);
    ASSERT_TRUE(copied) << copied.error().message;
    ASSERT_EQ(out, in);
  }
  if (std::string(GetParam().gpu) == "gfx1100") {
    const auto program = *device->load(compiled_kernel());
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
    ASSERT_TRUE(program->launch(views, {}));
    u32 first_word = 0, sum = 0;
    std::memcpy(&first_word, in.data(), 4);
    ASSERT_TRUE(b->copy_out(&sum, 4));
    EXPECT_EQ(sum, first_word + 7);
  }
  EXPECT_EQ(machine->checks().errors(), 2u) << "the queues that were one too many, here and there";
}

INSTANTIATE_TEST_SUITE_P(Machines, CopylessTest, ::testing::ValuesIn(kOfTwoKinds), name_of_case);

}  // namespace
}  // namespace doorbell::amd
