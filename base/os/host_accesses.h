// HostAccesses: the door through which a driver says what the host itself reads and writes of
// memory that a device sees too: nobody else can see plain loads and stores. Real devices have
// none.
#pragma once

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// Thread safety: from any thread.
class HostAccesses {
 public:
  virtual ~HostAccesses() = default;
  // From now until the thread's next call into the driver. Fails where what is read did not come.
  virtual Result<void> access(const void* at, u64 bytes, bool is_write) = 0;
};

}  // namespace doorbell::os
