// Mutants of what a driver says outside of its rings: the arguments of its ioctls, and the
// amd_queue_t that it shares with the command processor of an AQL queue. A Door stands between the
// driver and the emulated kernel, records what passes, and changes one thing of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/emulator/mutation/watched_files.h"

namespace doorbell::testing {

struct DoorMutant {
  std::string role;  // "CREATE_QUEUE type 2", "ALLOC_MEMORY_OF_GPU flags 0xd6000002", "amd_queue_t"
  std::string field;  // "ring_size"
  u64 flip = 1;       // bits that are turned over in all calls of the role
  u64 times = 1;      // or, where it is not 1, what the field is multiplied by

  std::string name() const;
};

class Door final : public FileWatcher {
 public:
  // Null: records.
  explicit Door(const DoorMutant* mutant) : mutant_(mutant) {}

  // `files` as the driver sees them; borrows this.
  std::unique_ptr<os::Files> wrap(std::unique_ptr<os::Files> files);
  // Of each role its fields, once, with single bits of flags; none of pointers to arrays, which
  // would change the test's own memory, and none of what only the kernel writes.
  const std::vector<DoorMutant>& mutants() const { return mutants_; }
  bool happened() const { return happened_; }

  // For the files.
  Result<int> ioctl(os::File& file, unsigned long request, void* argument) override;
  void mapped(u64 offset, u8* host) override { hosts_[offset] = host; }

 private:
  // amd_queue_t is changed before each call that puts the queue on the hardware, where the driver
  // has written it anew.
  void change_queue();
  template <class T>
  Result<int> pass(os::File& file, unsigned long request, T& arguments);
  template <class T>
  void record(const std::string& role, const T& arguments);

  const DoorMutant* mutant_;
  std::vector<DoorMutant> mutants_;
  std::map<std::string, bool> recorded_;
  std::map<u64, u64> offsets_;  // of buffers' addresses, in the file
  std::map<u64, u8*> hosts_;    // of offsets
  u64 queue_va_ = 0;            // of the page that holds the amd_queue_t
  u64 last_ = 0;                // what was written into its field
  bool happened_ = false;
};

}  // namespace doorbell::testing
