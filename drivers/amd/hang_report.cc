// Pointers of the ring.
#include "drivers/amd/hang_report.h"

#include <fmt/format.h>

namespace doorbell::amd {

std::string describe_hang(KfdQueue& queue, const CodeHeap&) {
  return fmt::format("; of its ring {:#x} is read, {:#x} written", queue.read_pointer(),
                     queue.write_pointer());
}

}  // namespace doorbell::amd
