// Unpacking by zlib, piece by piece.
#include "tensor/io/gzip.h"

#include <algorithm>

#include <zlib.h>

namespace doorbell::io {

Result<std::vector<u8>> unpack_gzip(std::span<const u8> packed, usize most) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK)
    return fail(ErrorKind::OutOfMemory, "no memory to unpack {} bytes", packed.size());
  std::vector<u8> unpacked;
  stream.next_in = const_cast<u8*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = Z_OK;
  while (status == Z_OK && unpacked.size() < most) {
    constexpr usize kPiece = usize{1} << 16;
    const usize done = unpacked.size();
    unpacked.resize(std::min(most, done + std::max(kPiece, done)));
    stream.next_out = unpacked.data() + done;
    stream.avail_out = static_cast<uInt>(std::min<usize>(unpacked.size() - done, UINT32_MAX));
    const uInt room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    unpacked.resize(done + (room - stream.avail_out));
  }
  const usize consumed = packed.size() - stream.avail_in;
  inflateEnd(&stream);
  if (status == Z_OK)
    return fail(ErrorKind::Unsupported, "gzip data unpacks to more than {} bytes", most);
  if (status != Z_STREAM_END)
    return fail(ErrorKind::Corrupt, "gzip data is damaged or cut at byte {} of {}", consumed,
                packed.size());
  if (consumed != packed.size())
    return fail(ErrorKind::Corrupt, "gzip data ends at byte {}, the file at {}", consumed,
                packed.size());
  return unpacked;
}

}  // namespace doorbell::io
