// A preempted queue's save area, any bytes: refused, or read into waves whose registers lie in it.
// The first byte is the generation.
#include "drivers/amd/hw/saved_waves.h"

#include "base/util/check.h"

using namespace doorbell;
using namespace doorbell::amd::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size == 0) return 0;
  const auto generation = static_cast<Generation>(data[0] % kGenerations);
  const std::span<const u8> area(data + 1, size - 1);
  Result<std::vector<SavedWave>> waves = read_saved_waves(generation, area);
  if (!waves) return 0;
  const u8* end = area.data() + area.size();
  for (const SavedWave& wave : *waves) {
    for (std::span<const u8> part : {wave.vectors, wave.scalars, wave.lds})
      CHECK(part.empty() || (part.data() >= area.data() && part.data() + part.size() <= end),
            "registers outside the area");
    (void)wave.scalar(wave.m0);
    (void)wave.vector(wave.mode, static_cast<u32>(wave.exec));
    (void)wave.group(generation);
    (void)wave.position_in_group(generation);
  }
  return 0;
}
