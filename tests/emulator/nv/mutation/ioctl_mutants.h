// What the mutants of NVIDIA's ioctls change (mutation/ioctl_door.h): the records of RM's escapes,
// objects and commands, and of UVM's requests.
#pragma once

#include "tests/emulator/mutation/ioctl_door.h"

namespace doorbell::testing {

class NvDoor final : public IoctlDoor {
 public:
  using IoctlDoor::IoctlDoor;

 private:
  std::vector<Part> parts_of(unsigned long request, std::byte* argument) override;
  bool acts(const std::string& role) const override { return !role.starts_with("RM_CONTROL"); }
  template <class Record>
  void add_part(std::vector<Part>& parts, const std::string& role, std::span<std::byte> bytes);
};

}  // namespace doorbell::testing
