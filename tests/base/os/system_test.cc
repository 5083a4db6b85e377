// The small doors: clock, randomness, MMIO, environment, libraries and processes.
#include "base/os/system.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/os/environment.h"
#include "base/os/host.h"
#include "base/os/library.h"
#include "base/os/mmio.h"
#include "base/os/process.h"
#include "tests/support/fake_system.h"

namespace doorbell::os {
namespace {

TEST(HostClock, SleepsAtLeastAsLongAsAsked) {
  Clock& clock = host_clock();
  u64 before = clock.now_ns();
  clock.sleep_until(before + 2'000'000);
  EXPECT_GE(clock.now_ns(), before + 2'000'000);
  clock.sleep_until(before);  // long past: returns at once
}

TEST(HostClock, LongWaitsGiveTheProcessorAway) {
  Clock& clock = host_clock();
  u64 before = clock.now_ns();
  clock.relax(1'000'000);
  EXPECT_GE(clock.now_ns() - before, 50'000u);
}

TEST(HostFile, IsReadyWhenItHasSomethingToRead) {
  std::string folder = "/tmp/doorbell-ready-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  Result<std::unique_ptr<File>> file = host_files().open(path, Access::ReadWrite);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(*(*file)->wait_ready(1));
  ASSERT_EQ(write((*file)->descriptor(), "x", 1), 1);
  EXPECT_TRUE(*(*file)->wait_ready(1));
  EXPECT_TRUE(*(*file)->wait_ready(~u64{0}));
  unlink(path.c_str());
  rmdir(folder.c_str());
}

TEST(HostRandom, DoesNotRepeat) {
  EXPECT_NE(host_random().next(), host_random().next());
  std::vector<u8> many(1000);
  host_random().fill(many);
  EXPECT_NE(std::vector<u8>(many.end() - 16, many.end()), std::vector<u8>(16, 0));
}

TEST(FakeSystem, TimeMovesOnlyWhenAsked) {
  ::doorbell::testing::FakeSystem fake;
  EXPECT_EQ(fake.system.clock.now_ns(), 0u);
  fake.system.clock.sleep_until(500);
  fake.system.clock.relax(0);
  EXPECT_EQ(fake.system.clock.now_ns(), 1500u);
  u64 first = fake.system.random.next();
  EXPECT_NE(fake.system.random.next(), first);
  EXPECT_EQ(::doorbell::testing::FakeSystem().system.random.next(), first) << "it repeats";
}

TEST(Mmio, MappedAccessesReachTheMemory) {
  alignas(8) std::array<u8, 32> memory{};
  Mmio region(memory.data(), memory.size());
  region.write32(4, 0x11223344);
  EXPECT_EQ(memory[4], 0x44);
  EXPECT_EQ(memory[7], 0x11);
  EXPECT_EQ(region.read64(0), 0x11223344'00000000u);
  Mmio part = region.window(4, 8);
  EXPECT_EQ(part.read32(0), 0x11223344u);
  EXPECT_EQ(part.size(), 8u);
  EXPECT_THROW(region.window(24, 16), InternalError);
  EXPECT_THROW(part.window(~u64{0}, 2), InternalError);
}

TEST(Mmio, TrappedAccessesReachTheTrapAtTheirPlace) {
  struct Trap final : MmioTrap {
    std::vector<std::array<u64, 3>> writes;
    u64 read(u64 offset, unsigned bytes) override { return offset * 100 + bytes; }
    void write(u64 offset, unsigned bytes, u64 value) override {
      writes.push_back({offset, bytes, value});
    }
  } trap;
  Mmio region = Mmio(trap, 0x1000).window(0x100, 0x100).window(0x10, 0x10);
  EXPECT_EQ(region.read32(8), 0x118u * 100 + 4);
  region.write64(0, 0x123456789abcdef0);
  region.write<u8>(1, 5);
  EXPECT_EQ(trap.writes,
            (std::vector<std::array<u64, 3>>{{0x110, 8, 0x123456789abcdef0}, {0x111, 1, 5}}));
}

TEST(Environment, CacheFolderFollowsXdg) {
  auto folder = [](std::map<std::string, std::string, std::less<>> variables) {
    return *cache_folder(Environment(std::move(variables)));
  };
  EXPECT_EQ(folder({{"CACHEDIR", "here"}, {"HOME", "/home/u"}}), "here");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "/x"}, {"HOME", "/home/u"}}), "/x/doorbell");
#ifdef __linux__
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", "relative"}, {"HOME", "/home/u"}}),
            "/home/u/.cache/doorbell");
  EXPECT_EQ(folder({{"XDG_CACHE_HOME", ""}, {"HOME", "/home/u"}}), "/home/u/.cache/doorbell");
#endif
  EXPECT_EQ(cache_folder(Environment()).error().kind, ErrorKind::NotFound);
}

TEST(Library, NamesWhatItTried) {
  std::vector<std::string> names{"libnone-such.so.1", "libnone-such.so"};
  Result<Library> none = Library::open(names);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::NotFound);
  EXPECT_NE(std::string(none.error().what()).find("libnone-such.so.1"), std::string::npos);
}

TEST(Library, FindsFunctions) {
  std::vector<std::string> names{"libnone-such.so", "libm.so.6", "libm.dylib"};
  Result<Library> math = Library::open(names);
  if (!math) GTEST_SKIP() << "no libm under a known name: " << math.error().what();
  EXPECT_EQ((*math->function<double(double)>("sqrt"))(9.0), 3.0);
  EXPECT_EQ(math->function<void()>("no_such_function").error().kind, ErrorKind::NotFound);
}

TEST(Process, MissingProgramIsAnError) {
  std::vector<std::string> command{"/no/such/program"};
  EXPECT_EQ(run_process(command).error().kind, ErrorKind::NotFound);
}

TEST(Process, GivesOutputAndExitStatus) {
  std::vector<std::string> command{"/bin/sh", "-c", "echo out; echo err >&2; exit 3"};
  ProcessOutput output = *run_process(command);
  EXPECT_EQ(output.out, "out\n");
  EXPECT_EQ(output.error_out, "err\n");
  EXPECT_EQ(output.exit_status, 3);
  command[2] = "kill -9 $$";
  EXPECT_EQ(run_process(command)->exit_status, 137);
}

// It shares our terminal, whose interrupts are its own affair.
TEST(Process, AttachedIsNotInterruptedInOurStead) {
  std::vector<std::string> command{"/bin/sh", "-c", "kill -INT $PPID; exit 4"};
  EXPECT_EQ(*run_attached(command), 4);
  command[2] = "kill -INT $$";
  EXPECT_EQ(*run_attached(command), 130);
  command[0] = "/no/such/program";
  EXPECT_EQ(run_attached(command).error().kind, ErrorKind::NotFound);
}

// More than a pipe holds, both ways at once: writing all before reading would never end.
TEST(Process, EchoesMegabytes) {
  std::string input(3'000'000, 'x');
  std::vector<std::string> command{"cat"};
  ProcessOutput output = *run_process(command, input);
  EXPECT_EQ(output.out.size(), input.size());
  EXPECT_EQ(output.exit_status, 0);
}

TEST(Process, SurvivesAProgramThatDoesNotRead) {
  std::string input(3'000'000, 'x');
  std::vector<std::string> command{"true"};
  EXPECT_EQ(run_process(command, input)->exit_status, 0);
}

TEST(LineProcess, MissingProgramIsAnError) {
  std::vector<std::string> command{"/no/such/program"};
  EXPECT_EQ(LineProcess::start(command).error().kind, ErrorKind::NotFound);
}

TEST(LineProcess, AnswersLineByLine) {
  std::vector<std::string> command{"cat"};
  LineProcess cat = *LineProcess::start(command);
  EXPECT_EQ(*cat.ask("one"), "one");
  EXPECT_EQ(*cat.ask(""), "");
  EXPECT_EQ(*cat.ask("two\nthree"), "two");
  EXPECT_EQ(*cat.ask("four"), "three");
  EXPECT_EQ(*cat.ask(std::string(10'000, 'x')), "four");
}

TEST(LineProcess, EndWithoutAnAnswerIsAnError) {
  std::vector<std::string> command{"/bin/sh", "-c", "read line"};
  LineProcess shell = *LineProcess::start(command);
  EXPECT_FALSE(shell.ask("hello"));
  EXPECT_FALSE(shell.ask("hello"));
}

}  // namespace
}  // namespace doorbell::os
