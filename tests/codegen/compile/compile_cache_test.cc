// The compile cache among processes, and with databases, folders and entries that are broken.
#include "codegen/compile/compile_cache.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/os/host.h"
#include "base/util/check.h"

namespace doorbell::codegen {
namespace {

class CompileCacheTest : public ::testing::Test {
 protected:
  CompileCacheTest() {
    char name[] = "/tmp/doorbell_cache_XXXXXX";
    CHECK(mkdtemp(name) != nullptr);
    folder_ = name;
  }
  ~CompileCacheTest() override { (void)!std::system(("rm -rf " + folder_).c_str()); }

  std::string path() const { return folder_ + "/deep/compile.db"; }
  static KernelBinary kernel(const std::string& name) {
    KernelBinary k;
    k.name = name;
    k.image.assign(5000, 0xab);
    return k;
  }
  void run_sql(const char* text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, text, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  std::string folder_;
};

TEST_F(CompileCacheTest, FindsNothingInAnEmptyOne) {
  CompileCache cache(os::host_files(), path());
  EXPECT_FALSE(cache.find(make_cache_key("a")));
  EXPECT_TRUE(cache.usable());
}

TEST_F(CompileCacheTest, KeepsKernelsForTheNextProcess) {
  {
    CompileCache cache(os::host_files(), path());
    cache.store(make_cache_key("a"), kernel("first"));
    cache.store(make_cache_key("b"), kernel("second"));
    cache.store(make_cache_key("a"), kernel("third"));
  }
  CompileCache cache(os::host_files(), path());
  EXPECT_EQ(cache.find(make_cache_key("a"))->name, "third");
  EXPECT_EQ(cache.find(make_cache_key("b"))->name, "second");
  EXPECT_FALSE(cache.find(make_cache_key("c")));
}

TEST_F(CompileCacheTest, ForgetsACorruptEntry) {
  CompileCache cache(os::host_files(), path());
  cache.store(make_cache_key("a"), kernel("first"));
  run_sql("UPDATE kernels SET entry = zeroblob(length(entry))");
  EXPECT_FALSE(cache.find(make_cache_key("a")));
  EXPECT_TRUE(cache.usable());
  cache.store(make_cache_key("a"), kernel("again"));
  EXPECT_EQ(cache.find(make_cache_key("a"))->name, "again");
}

TEST_F(CompileCacheTest, GoesOnWithoutAFolderItMayWrite) {
  std::ofstream(folder_ + "/deep") << "a file where the folder should be";
  CompileCache cache(os::host_files(), path());
  cache.store(make_cache_key("a"), kernel("first"));
  EXPECT_FALSE(cache.find(make_cache_key("a")));
  EXPECT_FALSE(cache.usable());
}

TEST_F(CompileCacheTest, GoesOnWithoutADatabaseThatIsNone) {
  mkdir((folder_ + "/deep").c_str(), 0700);
  std::ofstream(path()) << std::string(5000, 'x');
  {
    CompileCache cache(os::host_files(), path());
    EXPECT_FALSE(cache.find(make_cache_key("a")));
    EXPECT_FALSE(cache.usable());
  }
  CompileCache next(os::host_files(), path());
  next.store(make_cache_key("a"), kernel("first"));
  EXPECT_TRUE(next.find(make_cache_key("a"))) << "the next process begins a new one";
}

TEST_F(CompileCacheTest, GoesOnWhenAnotherProcessHoldsTheLock) {
  CompileCache cache(os::host_files(), path());
  cache.store(make_cache_key("a"), kernel("first"));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(cache.find(make_cache_key("a"))->name, "first") << "readers do not wait";
  cache.store(make_cache_key("b"), kernel("second"));
  EXPECT_FALSE(cache.usable());
  sqlite3_close(other);
}

TEST_F(CompileCacheTest, DropsTheOldestWhenTooLarge) {
  {
    CompileCache cache(os::host_files(), path());
    for (int i = 0; i < 20; ++i) cache.store(make_cache_key(std::to_string(i)), kernel("k"));
  }
  CompileCache cache(os::host_files(), path(), 50'000);
  EXPECT_FALSE(cache.find(make_cache_key("0")));
  EXPECT_TRUE(cache.find(make_cache_key("19")));
}

TEST_F(CompileCacheTest, TwoProcessesWriteAtOnce) {
  constexpr int kEach = 40;
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      CompileCache cache(os::host_files(), path());
      for (int i = 0; i < kEach; ++i) {
        std::string name = std::to_string(child) + "/" + std::to_string(i);
        cache.store(make_cache_key(name), kernel(name));
        cache.store(make_cache_key("shared"), kernel("shared"));
      }
      _exit(cache.usable() ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  CompileCache cache(os::host_files(), path());
  for (int child = 0; child < 2; ++child) {
    for (int i = 0; i < kEach; ++i) {
      std::string name = std::to_string(child) + "/" + std::to_string(i);
      auto found = cache.find(make_cache_key(name));
      ASSERT_TRUE(found) << name;
      EXPECT_EQ(found->name, name);
    }
  }
}

// What a kernel of this key holds, so that a reader sees whether it is whole and the right one.
KernelBinary kernel_of(int key) {
  KernelBinary k;
  k.name = "kernel_" + std::to_string(key);
  for (int i = 0; i < 3000 + 97 * key; ++i) k.image.push_back(static_cast<u8>(i * (key + 1)));
  return k;
}

// A process that reads and writes keys that others read and write too. 0: it saw nothing wrong.
int hammer(const std::string& path, int turns, u32 seed) {
  CompileCache cache(os::host_files(), path);
  for (int turn = 0; turn < turns; ++turn) {
    seed = seed * 1664525 + 1013904223;
    const int key = static_cast<int>(seed >> 16) % 24;
    const KernelBinary expected = kernel_of(key);
    const auto found = cache.find(make_cache_key(expected.name));
    if (found && (found->name != expected.name || found->image != expected.image)) return 1;
    if (!found || turn % 3 == 0) cache.store(make_cache_key(expected.name), expected);
  }
  return 0;
}

// If a process dies while writing, the others neither hang nor see half of an entry.
TEST_F(CompileCacheTest, ProcessesAreKilledWhileTheyHammerOneCache) {
  constexpr int kRounds = 3, kSurvivors = 3;
  for (u32 round = 0; round < kRounds; ++round) {
    std::vector<pid_t> survivors;
    const auto start = [&](int turns, u32 seed) {
      const pid_t pid = fork();
      if (pid != 0) return pid;
      alarm(60);  // ends a process that hangs
      _exit(hammer(path(), turns, seed));
    };
    const pid_t victim = start(1'000'000, 77 + round);
    for (u32 i = 0; i < kSurvivors; ++i) survivors.push_back(start(150, 10 * round + i));
    usleep(5'000 + 17'000 * round);
    kill(victim, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(victim, &status, 0), victim);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    for (const pid_t pid : survivors) {
      ASSERT_EQ(waitpid(pid, &status, 0), pid);
      EXPECT_EQ(status, 0);
    }
  }
  CompileCache cache(os::host_files(), path());
  int kept = 0;
  for (int key = 0; key < 24; ++key) {
    const auto found = cache.find(make_cache_key(kernel_of(key).name));
    if (!found) continue;
    ++kept;
    EXPECT_EQ(found->name, kernel_of(key).name);
    EXPECT_EQ(found->image, kernel_of(key).image);
  }
  EXPECT_GT(kept, 0);
  cache.store(make_cache_key("after"), kernel_of(5));
  EXPECT_TRUE(cache.usable());
  EXPECT_EQ(cache.find(make_cache_key("after"))->image, kernel_of(5).image);
}

}  // namespace
}  // namespace doorbell::codegen
