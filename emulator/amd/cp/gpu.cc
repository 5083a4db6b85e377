#include "emulator/amd/cp/gpu.h"

namespace doorbell::emulator::amd {

void run_until_idle(std::span<Gpu* const> gpus) {
  bool moved = true;
  while (moved) {
    moved = false;
    for (Gpu* gpu : gpus) moved |= gpu->run_until_idle();
  }
}

}  // namespace doorbell::emulator::amd
