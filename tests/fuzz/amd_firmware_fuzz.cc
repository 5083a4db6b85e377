// A firmware file, any bytes: refused, or images that lie in it. The first byte is the kind.
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "drivers/amd/hw/bare/firmware.h"

using namespace doorbell;
using namespace doorbell::amd::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < 5) return 0;
  std::vector<u8> file(data + 1, data + size);
  // Sizes that do not fit are refused at once.
  const u32 bytes = static_cast<u32>(file.size());
  std::memcpy(file.data(), &bytes, sizeof bytes);
  const auto lies_inside = [&](std::span<const u8> image) {
    CHECK(image.empty() || (image.data() >= file.data() &&
                            image.data() + image.size() <= file.data() + file.size()),
          "an image outside the file");
  };
  constexpr u8 kPsp = static_cast<u8>(FirmwareKind::P2s) + 1;
  if (data[0] % (kPsp + 1) == kPsp) {
    if (Result<std::vector<PspImage>> parts = read_psp_file(file))
      for (const PspImage& part : *parts) lies_inside(part.bytes);
    return 0;
  }
  const auto kind = static_cast<FirmwareKind>(data[0] % (kPsp + 1));
  if (Result<FirmwareFile> read = read_firmware(kind, file))
    for (const FirmwareImage& image : read->images) lies_inside(image.bytes);
  return 0;
}
