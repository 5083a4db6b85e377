// Mutants of what a driver tells the kernel modules: each bit of each argument of its ioctls, and
// of the parameters to which they point; calls left out, and made twice. An IoctlDoor stands
// between the driver and the emulated kernel modules, records what passes, and changes it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drivers/nv/hw/rm/abi.h"
#include "tests/emulator/mutation/watched_files.h"

namespace doorbell::testing {

struct IoctlMutant {
  enum class Change : u8 { Bit, Drop, Twice };
  std::string role;  // "RM_ALLOC of class 0xa06c"
  Change change = Change::Bit;
  usize offset = 0;  // of the bytes
  u32 bit = 0;       // of the byte
  std::string name;  // "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS: engineType bit 3"
};

// "bit", "drop", "twice".
std::string name_of(IoctlMutant::Change change);

class IoctlDoor final : public FileWatcher {
 public:
  // Null: records.
  explicit IoctlDoor(const IoctlMutant* mutant) : mutant_(mutant) {}

  std::unique_ptr<os::Files> wrap(std::unique_ptr<os::Files> files) {
    return watch_files(std::move(files), *this);
  }
  // Of each call and each kind of parameters the bits, once; none of what only the kernel writes,
  // of pointers, which would change the test's own memory, and of arrays behind the second element.
  const std::vector<IoctlMutant>& mutants() const { return mutants_; }
  // Calls and parameters for which there is no record, so that nothing of them is changed.
  const std::set<std::string>& unknown() const { return unknown_; }
  bool happened() const { return happened_; }

  Result<int> ioctl(os::File& file, unsigned long request, void* argument) override;

 private:
  // A record within a call.
  struct Part {
    std::string role;
    std::span<std::byte> bytes;
  };
  template <class Record>
  void add_part(std::vector<Part>& parts, const std::string& role, std::span<std::byte> bytes);
  std::vector<Part> parts_of(unsigned long request, std::byte* argument);
  void add_call(const std::string& role);
  static Result<int> repeat(os::File& file, unsigned long request, const Part& part,
                            void* argument);

  const IoctlMutant* mutant_;
  std::map<std::string, bool> seen_;
  std::vector<IoctlMutant> mutants_;
  std::set<std::string> unknown_;
  bool happened_ = false;
};

}  // namespace doorbell::testing
