// For programs without the emulator.
#include "runtime/emulated/emulated_amd.h"

namespace doorbell::runtime {

Result<std::unique_ptr<EmulatedAmd>> open_emulated_amd(const EmulatorSettings& /*settings*/,
                                                       const std::string& /*arch*/) {
  return fail(ErrorKind::Unsupported,
              "this program is built without the emulator; the program doorbell has it");
}

}  // namespace doorbell::runtime
