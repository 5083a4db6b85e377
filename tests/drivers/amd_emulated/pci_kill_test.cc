// A process that is killed in the middle of work, for real: the card is kept in files, the process
// is another one, and the signal is SIGKILL. The next process finds what was left.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "drivers/amd/kernel/pci/inspect.h"
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

constexpr const char* kFolder = "DOORBELL_PCI_KILL_FOLDER";

PciMachine machine_in(const std::string& folder) {
  return PciMachine({.gpus = {"gfx1100"}, .cards = folder});
}

// This program once more, as another process that runs one of the disabled tests below, which are
// not tests by themselves: they work until they are killed, or once. `told` is its output.
struct Child {
  pid_t pid = -1;
  int told = -1;

  Child(const std::string& folder, bool is_endless) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    told = ends[0];
    pid = fork();
    if (pid != 0) {
      close(ends[1]);
      return;
    }
    dup2(ends[1], STDOUT_FILENO);  // which gtest's own words go to as well
    setenv(kFolder, folder.c_str(), 1);
    const char* const arguments[] = {"/proc/self/exe",
                                     is_endless ? "--gtest_filter=PciKill.DISABLED_Endless"
                                                : "--gtest_filter=PciKill.DISABLED_Whole",
                                     "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr};
    execv(arguments[0], const_cast<char* const*>(arguments));
    _exit(127);
  }
  // Until it says that it works, or ends.
  bool has_begun() {
    std::string said;
    char one = 0;
    while (read(told, &one, 1) == 1) {
      said += one;
      if (said.ends_with("it works\n")) return true;
    }
    return false;
  }
  int wait() {
    int status = -1;
    waitpid(pid, &status, 0);
    close(told);
    return status;
  }
};

struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / "doorbell_cardXXXXXX").string();
  Folder() { EXPECT_NE(mkdtemp(path.data()), nullptr); }
  ~Folder() { std::filesystem::remove_all(path); }
};

void work(bool is_endless) {
  const char* const folder = std::getenv(kFolder);
  ASSERT_NE(folder, nullptr) << "run by PciKill's other tests";
  PciMachine machine = machine_in(folder);
  auto process = *machine.start();
  auto device = *machine.open(*process);
  do {
    ASSERT_EQ(run_kernel(*device), "");
    ASSERT_EQ(write(STDOUT_FILENO, "it works\n", 9), 9);
  } while (is_endless);
}
TEST(PciKill, DISABLED_Endless) { work(true); }
TEST(PciKill, DISABLED_Whole) { work(false); }

usize psp_frames(u64 word, usize before) {
  return before + (word == address_of(hw::Reg::Mp0SmnC2pmsg67) ? 1 : 0);
}

TEST(PciKill, TheNextProcessResetsTheCard) {
  const Folder folder;
  Child child(folder.path, true);
  ASSERT_TRUE(child.has_begun());
  ASSERT_EQ(kill(child.pid, SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(child.wait()));
  PciMachine machine = machine_in(folder.path);
  usize resets = 0, frames = 0;
  auto process = *machine.start([&](u64 word, u32& value) {
    frames = psp_frames(word, frames);
    resets += word == address_of(hw::Reg::Mp1SmnC2pmsg75) && value == hw::kDebugMode1Reset;
    return true;
  });
  {
    // As it was left: started, and with queues that nobody took off.
    const PciKernel::Viewed viewed = *process->kernel->view(0);
    const PciGpu::Look look = viewed.gpu->look();
    const FirmwareState state = read_firmware_state(look.registers, false);
    EXPECT_TRUE(state.is_psp_alive && state.has_started_graphics && state.is_compute_running);
    EXPECT_EQ(state.live, 1u);
    EXPECT_TRUE(read_compute_queue(look.registers, 0).is_active);
  }
  auto device = machine.open(*process);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(run_kernel(**device), "");
  EXPECT_EQ(resets, 1u);
  EXPECT_EQ(frames, 15u);
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

TEST(PciKill, TheNextProcessTakesACardThatWasLeftAlive) {
  const Folder folder;
  Child child(folder.path, false);
  ASSERT_TRUE(child.has_begun());
  EXPECT_EQ(child.wait(), 0);
  PciMachine machine = machine_in(folder.path);
  usize frames = 0;
  auto process = *machine.start([&](u64 word, u32&) {
    frames = psp_frames(word, frames);
    return true;
  });
  auto device = machine.open(*process);
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(run_kernel(**device), "");
  EXPECT_EQ(frames, 0u);
  for (const emu::Report& report : machine.reports) ADD_FAILURE() << to_string(report);
}

TEST(PciKill, ALivingProcessKeepsTheCard) {
  const Folder folder;
  Child child(folder.path, true);
  ASSERT_TRUE(child.has_begun());
  {
    PciMachine machine = machine_in(folder.path);
    const auto refused = machine.start();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("used by another process"), std::string::npos)
        << refused.error().message;
  }
  kill(child.pid, SIGKILL);
  child.wait();
}

}  // namespace
}  // namespace doorbell::amd
