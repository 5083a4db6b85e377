// The form on disk: {magic, version, payload length, payload checksum} as four u64, then the
// payload: each field in the order of the struct, lists and texts after their u64 length.
#include "codegen/compile/kernel_binary.h"

#include <cstring>
#include <type_traits>

#include "base/util/hash.h"
#include "base/util/try.h"

namespace doorbell::codegen {

namespace {

constexpr u64 kMagic = 0x31'4c'45'4e'52'45'4b'44;  // "DKERNEL1"
constexpr u64 kVersion = 4;
constexpr usize kHeaderBytes = 4 * sizeof(u64);

class Writer {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    const u8* at = reinterpret_cast<const u8*>(&value);
    bytes.insert(bytes.end(), at, at + sizeof(T));
  }
  void put(std::string_view text) {
    put<u64>(text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
  }

  std::vector<u8> bytes;
};

// Every read is checked against what is left and says where it failed.
class Reader {
 public:
  explicit Reader(std::span<const u8> bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_arithmetic_v<T>
  Result<T> get(const char* what) {
    TRY(std::span<const u8> raw, take(sizeof(T), what));
    T value;
    std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  // A length that the rest of the bytes could hold, at `least` bytes each.
  Result<u64> get_count(const char* what, usize least) {
    TRY(u64 count, get<u64>(what));
    if (count > (bytes_.size() - at_) / least) {
      return fail(ErrorKind::Corrupt, "{} {} at byte {}, where {} bytes are left", count, what, at_,
                  bytes_.size() - at_);
    }
    return count;
  }
  Result<std::span<const u8>> take(usize count, const char* what) {
    if (count > bytes_.size() - at_) {
      return fail(ErrorKind::Corrupt, "{} at byte {} needs {} bytes, {} are left", what, at_, count,
                  bytes_.size() - at_);
    }
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }
  Result<std::string> get_text(const char* what) {
    TRY(u64 size, get_count(what, 1));
    TRY(std::span<const u8> raw, take(size, what));
    return std::string(raw.begin(), raw.end());
  }
  usize at() const { return at_; }
  usize left() const { return bytes_.size() - at_; }

 private:
  std::span<const u8> bytes_;
  usize at_ = 0;
};

Result<ProgramParam> get_param(Reader* in) {
  ProgramParam param{};
  TRY(u8 scalar, in->get<u8>("a dtype"));
  TRY(param.dtype.lanes, in->get<u16>("lanes"));
  TRY(param.count, in->get<i64>("an element count"));
  TRY(u8 written, in->get<u8>("a written flag"));
  TRY(u8 image, in->get<u8>("an image flag"));
  if (scalar >= core::kScalarCount || written > 1 || image > 1) {
    return fail(ErrorKind::Corrupt, "dtype {}, written flag {} and image flag {} before byte {}",
                scalar, written, image, in->at());
  }
  param.dtype.scalar = static_cast<core::Scalar>(scalar);
  param.written = written != 0;
  param.image = image != 0;
  return param;
}

Result<core::TensorMap> get_tensor_map(Reader* in, usize params) {
  core::TensorMap map;
  TRY(map.slot, in->get<i64>("a map's slot"));
  TRY(map.offset, in->get<i64>("a map's offset"));
  TRY(map.element_bytes, in->get<i64>("bytes of an element"));
  TRY(const u64 rank, in->get_count("dimensions", 24));
  const bool fits = map.slot >= 0 && static_cast<u64>(map.slot) < params && map.offset >= 0;
  if (!fits || rank == 0 || rank > core::TensorMap::kMostDimensions)
    return fail(ErrorKind::Corrupt, "a map of {} dimensions at byte {} of slot {}, of {} slots",
                rank, map.offset, map.slot, params);
  map.dimensions.resize(rank);
  for (core::TensorMap::Dimension& d : map.dimensions) {
    TRY(d.size, in->get<i64>("a size"));
    TRY(d.stride, in->get<i64>("a stride"));
    TRY(d.box, in->get<i64>("a box"));
  }
  return map;
}

Result<KernelBinary> get_payload(Reader in) {
  KernelBinary k;
  TRY(k.name, in.get_text("name"));
  TRY(u64 params, in.get_count("params", 13));
  for (u64 i = 0; i < params; ++i) {
    TRY(ProgramParam param, get_param(&in));
    k.params.push_back(param);
  }
  TRY(u64 variables, in.get_count("variables", 8));
  for (u64 i = 0; i < variables; ++i) {
    TRY(std::string name, in.get_text("variable"));
    k.variables.push_back(core::intern_name(name));
  }
  TRY(k.threads, in.get<i64>("threads"));
  for (i64& extent : k.grid_groups) {
    TRY(extent, in.get<i64>("global size"));
  }
  for (i64& extent : k.group_items) {
    TRY(extent, in.get<i64>("local size"));
  }
  TRY(k.dynamic_shared_bytes, in.get<i64>("shared memory"));
  TRY(const u64 maps, in.get_count("maps", 56));
  for (u64 i = 0; i < maps; ++i) {
    TRY(core::TensorMap map, get_tensor_map(&in, k.params.size()));
    k.tensor_maps.push_back(std::move(map));
  }
  TRY(k.flops, in.get<f64>("operations"));
  TRY(k.bytes, in.get<f64>("bytes"));
  TRY(u64 image, in.get_count("code bytes", 1));
  TRY(std::span<const u8> code, in.take(image, "code"));
  k.image.assign(code.begin(), code.end());
  if (in.left() != 0 || k.threads < 1 || k.dynamic_shared_bytes < 0) {
    return fail(ErrorKind::Corrupt, "{} threads, {} bytes of shared memory, and {} after the end",
                k.threads, k.dynamic_shared_bytes, in.left());
  }
  return k;
}

}  // namespace

KernelBinary describe(const LinearProgram& program) {
  KernelBinary k;
  k.name = program.name;
  k.params = program.params;
  k.variables = program.variables;
  k.threads = program.threads;
  std::memcpy(k.grid_groups, program.grid_groups, sizeof k.grid_groups);
  std::memcpy(k.group_items, program.group_items, sizeof k.group_items);
  k.dynamic_shared_bytes = program.dynamic_shared_bytes;
  k.tensor_maps = program.tensor_maps;
  k.flops = program.flops;
  k.bytes = program.bytes;
  return k;
}

std::vector<u8> encode(const KernelBinary& k) {
  Writer payload;
  payload.put(std::string_view(k.name));
  payload.put<u64>(k.params.size());
  for (const ProgramParam& p : k.params) {
    payload.put(static_cast<u8>(p.dtype.scalar));
    payload.put(p.dtype.lanes);
    payload.put(p.count);
    payload.put<u8>(p.written);
    payload.put<u8>(p.image);
  }
  payload.put<u64>(k.variables.size());
  for (i64 name : k.variables) payload.put(core::interned_name(name));
  payload.put(k.threads);
  for (i64 size : k.grid_groups) payload.put(size);
  for (i64 size : k.group_items) payload.put(size);
  payload.put(k.dynamic_shared_bytes);
  payload.put<u64>(k.tensor_maps.size());
  for (const core::TensorMap& map : k.tensor_maps) {
    for (const i64 value : {map.slot, map.offset, map.element_bytes}) payload.put(value);
    payload.put<u64>(map.dimensions.size());
    for (const core::TensorMap::Dimension& d : map.dimensions)
      for (const i64 value : {d.size, d.stride, d.box}) payload.put(value);
  }
  payload.put(k.flops);
  payload.put(k.bytes);
  payload.put<u64>(k.image.size());
  payload.bytes.insert(payload.bytes.end(), k.image.begin(), k.image.end());

  Writer entry;
  entry.put(kMagic);
  entry.put(kVersion);
  entry.put<u64>(payload.bytes.size());
  entry.put(hash_bytes(payload.bytes));
  entry.bytes.insert(entry.bytes.end(), payload.bytes.begin(), payload.bytes.end());
  return std::move(entry.bytes);
}

Result<KernelBinary> decode(std::span<const u8> bytes) {
  Reader header(bytes);
  TRY(u64 magic, header.get<u64>("magic"));
  TRY(u64 version, header.get<u64>("version"));
  TRY(u64 size, header.get<u64>("length"));
  TRY(u64 checksum, header.get<u64>("checksum"));
  if (magic != kMagic || version != kVersion) {
    return fail(ErrorKind::Corrupt, "magic {:#x} version {}, expected {:#x} version {}", magic,
                version, kMagic, kVersion);
  }
  std::span<const u8> payload = bytes.subspan(kHeaderBytes);
  if (payload.size() != size) {
    return fail(ErrorKind::Corrupt, "payload of {} bytes, expected {}", payload.size(), size);
  }
  u64 found = hash_bytes(payload);
  if (found != checksum) {
    return fail(ErrorKind::Corrupt, "payload with checksum {:#x}, expected {:#x}", found, checksum);
  }
  return get_payload(Reader(payload));
}

}  // namespace doorbell::codegen
