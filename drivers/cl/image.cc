// {magic, length of the source, hash of the rest} as three u64, the source, the binary. The hash is
// there because implementations trust their binaries: rusticl ends the process over a damaged one.
#include "drivers/cl/image.h"

#include <algorithm>
#include <cstring>

#include "base/util/hash.h"

namespace doorbell::cl {
namespace {

constexpr u64 kMagic = 0x31'4c'43'4c'42'52'4f'44;  // "DORBLCL1"
constexpr usize kHeaderBytes = 3 * sizeof(u64);

}  // namespace

std::vector<u8> encode(const Image& image) {
  std::vector<u8> bytes(kHeaderBytes + image.source.size() + image.binary.size());
  u8* after = std::copy(image.source.begin(), image.source.end(), bytes.data() + kHeaderBytes);
  std::copy(image.binary.begin(), image.binary.end(), after);
  const u64 header[3] = {kMagic, image.source.size(),
                         hash_bytes(std::span(bytes).subspan(kHeaderBytes))};
  std::memcpy(bytes.data(), header, kHeaderBytes);
  return bytes;
}

Result<Image> decode(std::span<const u8> bytes) {
  u64 header[3] = {};
  if (bytes.size() < kHeaderBytes)
    return fail(ErrorKind::Corrupt, "OpenCL image of {} bytes, expected at least {}", bytes.size(),
                kHeaderBytes);
  std::memcpy(header, bytes.data(), kHeaderBytes);
  const std::span<const u8> rest = bytes.subspan(kHeaderBytes);
  if (header[0] != kMagic || header[1] > rest.size())
    return fail(ErrorKind::Corrupt,
                "OpenCL image with magic {:#x} and {} bytes of source, expected {:#x} and at most "
                "{}",
                header[0], header[1], kMagic, rest.size());
  if (const u64 hash = hash_bytes(rest); hash != header[2])
    return fail(ErrorKind::Corrupt, "OpenCL image with hash {:#x}, expected {:#x}", hash,
                header[2]);
  Image image;
  image.source = {reinterpret_cast<const char*>(rest.data()), header[1]};
  image.binary = rest.subspan(header[1]);
  return image;
}

}  // namespace doorbell::cl
