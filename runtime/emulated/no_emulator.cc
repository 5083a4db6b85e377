// For programs without the emulator.
#include "runtime/emulated/emulated_amd.h"
#include "runtime/emulated/emulated_cuda.h"
#include "runtime/emulated/emulated_metal.h"
#include "runtime/emulated/emulated_nv.h"

namespace doorbell::runtime {

namespace {

Error refusal() {
  return fail(ErrorKind::Unsupported,
              "this program is built without the emulator; the program doorbell has it");
}

}  // namespace

Result<std::unique_ptr<EmulatedAmd>> open_emulated_amd(const EmulatorSettings& /*settings*/,
                                                       const std::string& /*arch*/,
                                                       EmulatedDoor /*door*/) {
  return refusal();
}

Result<cuda::FindSymbol> open_emulated_cuda(const EmulatorSettings& /*settings*/,
                                            const std::string& /*arch*/) {
  return refusal();
}

Result<metal::FindSymbol> open_emulated_metal(const EmulatorSettings& /*settings*/) {
  return refusal();
}

Result<std::unique_ptr<EmulatedNv>> open_emulated_nv(const EmulatorSettings& /*settings*/,
                                                     const std::string& /*arch*/) {
  return refusal();
}

std::string emulated_cuda_fault() { return {}; }

}  // namespace doorbell::runtime
