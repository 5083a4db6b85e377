// Parsing of IDX: nothing beyond the header is looked at.
#include "tensor/io/idx_header.h"

namespace doorbell::io {

namespace {

constexpr usize kMagicBytes = 4, kSizeBytes = 4;
constexpr usize kMaxAxes = 16;

u32 big_endian(std::span<const u8> bytes) {
  return u32{bytes[0]} << 24 | u32{bytes[1]} << 16 | u32{bytes[2]} << 8 | u32{bytes[3]};
}

namespace dtypes = core::dtypes;

bool dtype_of_code(u8 code, core::DType* dtype) {
  switch (code) {
    case 0x08: *dtype = dtypes::u8; return true;
    case 0x09: *dtype = dtypes::i8; return true;
    case 0x0b: *dtype = dtypes::i16; return true;
    case 0x0c: *dtype = dtypes::i32; return true;
    case 0x0d: *dtype = dtypes::f32; return true;
    case 0x0e: *dtype = dtypes::f64; return true;
    default: return false;
  }
}

}  // namespace

Result<IdxHeader> parse_idx(std::span<const u8> file) {
  if (file.size() < kMagicBytes)
    return fail(ErrorKind::Corrupt, "file is {} bytes, expected at least {}", file.size(),
                kMagicBytes);
  IdxHeader header;
  if (file[0] != 0 || file[1] != 0 || !dtype_of_code(file[2], &header.dtype))
    return fail(ErrorKind::Corrupt,
                "magic word at byte 0 is {:#010x}, expected 0x00 0x00 type axes", big_endian(file));
  const usize axes = file[3];
  if (axes > kMaxAxes)
    return fail(ErrorKind::Unsupported, "{} axes at byte 3, at most {}", axes, kMaxAxes);
  header.data_start = kMagicBytes + axes * kSizeBytes;
  if (file.size() < header.data_start)
    return fail(ErrorKind::Corrupt, "file is {} bytes, its {} sizes end at byte {}", file.size(),
                axes, header.data_start);
  u64 bytes = static_cast<u64>(header.dtype.bytes());
  for (usize i = 0; i < axes; ++i) {
    const usize at = kMagicBytes + i * kSizeBytes;
    const u32 size = big_endian(file.subspan(at, kSizeBytes));
    if (__builtin_mul_overflow(bytes, u64{size}, &bytes))
      return fail(ErrorKind::Corrupt, "size {} at byte {} is too large", size, at);
    header.shape.push_back(size);
  }
  if (bytes != file.size() - header.data_start)
    return fail(ErrorKind::Corrupt, "{} bytes of data at byte {}, the sizes need {}",
                file.size() - header.data_start, header.data_start, bytes);
  return header;
}

}  // namespace doorbell::io
