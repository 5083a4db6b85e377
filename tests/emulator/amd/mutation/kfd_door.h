// What the mutants of KFD's ioctls change (mutation/ioctl_door.h), and those of the amd_queue_t
// that the driver shares with the command processor of an AQL queue.
#pragma once

#include <map>

#include "tests/emulator/mutation/ioctl_door.h"

namespace doorbell::testing {

class KfdDoor final : public IoctlDoor {
 public:
  using IoctlDoor::IoctlDoor;

  Result<int> ioctl(os::File& file, unsigned long request, void* argument) override;
  void mapped(u64 offset, u8* host) override { hosts_[offset] = host; }

 private:
  std::vector<Part> parts_of(unsigned long request, std::byte* argument) override;
  bool acts(const std::string& role) const override;
  void add_queue();
  // Before each call that puts the queue on the hardware, where the driver has written it anew:
  // which is when the command processor copies it.
  void change_queue();

  std::map<u64, u64> offsets_;  // of buffers' addresses, in the file
  std::map<u64, u8*> hosts_;    // of offsets
  u64 queue_va_ = 0;            // of the page that holds the amd_queue_t
  u32 last_ = 0;                // what was written into its field
};

}  // namespace doorbell::testing
