// Doors to a simulated system: files in memory, time that advances only on request, numbers that
// repeat.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/os/system.h"

namespace doorbell::testing {

// Content lives as long as somebody has it: files opened before a rename or remove go on, as on
// Linux.
class FakeFiles final : public os::Files {
 public:
  using Content = std::shared_ptr<std::vector<u8>>;

  std::map<std::string, Content> files;
  std::set<std::string> folders{"/"};
  std::set<std::string> read_only;  // paths whose opening for writing is refused, EACCES
  int fail_writes_after = -1;       // bytes until the disk is full, ENOSPC; -1: never

  void add(const std::string& path, std::string_view text);
  std::string text(const std::string& path) const;

  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override;
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> make_folders(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  bool exists(const std::string& path) override;
};

// Time moves when somebody sleeps or relaxes, by what they asked for: 1 us for a turn of a polling
// loop.
class FakeClock final : public os::Clock {
 public:
  u64 time_ns = 0;

  u64 now_ns() override { return time_ns; }
  void sleep_until(u64 until_ns) override { time_ns = std::max(time_ns, until_ns); }
  void relax(u32) override { time_ns += 1000; }
};

class FakeRandom final : public os::Random {
 public:
  u64 state = 1;
  void fill(std::span<u8> bytes) override;
};

struct FakeSystem {
  FakeFiles files;
  FakeClock clock;
  FakeRandom random;
  os::System system{files, clock, random};
};

}  // namespace doorbell::testing
