// Memory of the device that nobody wrote, from a program: what a kernel does with it, and what
// copies make of it.
#include "base/util/try.h"
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

using Values = std::array<u32, 32>;

struct UndefinedTest : EmulatedTest {
  UndefinedTest() {
    boot({.gpus = {"gfx1100"},
          .checks = "error,AMD-INI=error",
          .report = [this](const auto& report) { reports.push_back(to_string(report)); }});
  }

  // b[i] = a[a[i]].
  Result<void> gather(AmdDevice& device, Buffer& a, Buffer& b) {
    auto program = *device.load(compiled_kernel("gfx1100_gather"));
    const core::BufferView views[] = {{&a, 0}, {&b, 0}};
    TRY(program->launch(views, {}));
    return device.synchronize();
  }

  std::vector<std::string> reports;
};

TEST_F(UndefinedTest, StopsAKernelThatTakesItForAnIndex) {
  std::unique_ptr<AmdDevice> device = open(0);
  Ref<Buffer> a = *Buffer::allocate(*device, 4096), b = *Buffer::allocate(*device, 4096);
  EXPECT_FALSE(gather(*device, *a, *b));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find("error AMD-INI-001: "), std::string::npos) << reports[0];
  EXPECT_NE(reports[0].find(
                fmt::format("memory at {:#x}, 0x0 bytes into VRAM buffer", a->memory().address)),
            std::string::npos)
      << reports[0];
}

TEST_F(UndefinedTest, IsDefinedByCopies) {
  std::unique_ptr<AmdDevice> device = open(0);
  Ref<Buffer> a = *Buffer::allocate(*device, sizeof(Values));
  Ref<Buffer> b = *Buffer::allocate(*device, sizeof(Values));
  Values in, out{};
  for (u32 i = 0; i < in.size(); ++i) in[i] = (i + 5) % 32;
  ASSERT_TRUE(a->copy_in(in.data(), sizeof in));
  Result<void> done = gather(*device, *a, *b);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(b->copy_out(out.data(), sizeof out));
  for (u32 i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], (i + 10) % 32);
  EXPECT_TRUE(reports.empty()) << reports[0];
}

TEST_F(UndefinedTest, IsCarriedByCopiesOfTheEngine) {
  std::unique_ptr<AmdDevice> device = open(0);
  Ref<Buffer> a = *Buffer::allocate(*device, 4096), b = *Buffer::allocate(*device, 4096);
  Ref<Buffer> c = *Buffer::allocate(*device, 4096);
  Values zeros{};
  ASSERT_TRUE(c->copy_in(zeros.data(), sizeof zeros));
  auto commands = device->copy_queue().make_commands();
  commands->copy(c->memory().address, a->memory().address, 4096);
  ASSERT_TRUE(device->copy_queue().submit(*commands));
  ASSERT_TRUE(device->synchronize());
  EXPECT_FALSE(gather(*device, *c, *b));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find("AMD-INI-001"), std::string::npos) << reports[0];
}

TEST_F(UndefinedTest, StopsACopyThatBringsItToTheHost) {
  std::unique_ptr<AmdDevice> device = open(0);
  Ref<Buffer> a = *Buffer::allocate(*device, 4096);
  Values values{};
  ASSERT_TRUE(a->copy_in(values.data(), sizeof values));
  EXPECT_TRUE(a->copy_out(values.data(), sizeof values));
  EXPECT_TRUE(reports.empty()) << reports[0];
  std::array<u8, sizeof values + 1> more;
  EXPECT_FALSE(a->copy_out(more.data(), sizeof more));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_NE(reports[0].find("error AMD-INI-005: "), std::string::npos) << reports[0];
  EXPECT_NE(reports[0].find(fmt::format("at {:#x}, {:#x} bytes into VRAM buffer",
                                        a->memory().address + sizeof values, sizeof values)),
            std::string::npos)
      << reports[0];
}

}  // namespace
}  // namespace doorbell::amd
