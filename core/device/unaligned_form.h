// UnalignedForm: a program's second form, for buffers whose addresses are not aligned as the code
// of the first form needs it. Compiled when it is first needed.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "core/device/device.h"

namespace doorbell::core {

class UnalignedForm {
 public:
  explicit UnalignedForm(const Binary& binary)
      : alignment_(static_cast<u64>(binary.param_alignment)), make_(binary.unaligned) {}

  // Whether a launch needs it whose buffers' addresses have these bits, all or'ed.
  bool is_needed(u64 address_bits) const {
    return address_bits % alignment_ != 0 && make_ != nullptr;
  }
  // The form, on the device of the program; lives as long as this. The first call compiles.
  Result<Program*> get(Device& device) const;

 private:
  const u64 alignment_;                         // bytes
  const std::function<Result<Binary>()> make_;  // null: there is no other form
  mutable std::mutex mutex_;                    // guards program_
  mutable std::unique_ptr<Program> program_;
};

}  // namespace doorbell::core
