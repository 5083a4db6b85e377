// The memory of the machine, as the system says.
#include "base/os/physical_memory.h"

#include <unistd.h>

namespace doorbell::os {

u64 physical_memory_bytes() {
  return static_cast<u64>(sysconf(_SC_PHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
}

}  // namespace doorbell::os
