// The header of a safetensors file: an 8-byte length, JSON, then the bytes of the tensors without
// gaps (github.com/huggingface/safetensors, "Format"). Reading trusts nothing: every refusal names
// the byte it is about. For files and tensors see safetensors.h.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "core/dtype/dtype.h"

namespace doorbell::io {

// One tensor of a file, as its header says; checked against the file's size and the shape.
struct SafetensorsEntry {
  std::string name;
  core::DType dtype;
  std::vector<i64> shape;
  u64 begin = 0, end = 0;  // in the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Where the header of a file of `size` bytes ends that begins with these bytes, at least those of
// the length. Fails where it does not end in the file.
Result<u64> end_of_header(std::span<const u8> begin, u64 size);
// Of the bytes of a file of `size` bytes up to the end of its header, or more.
Result<SafetensorsHeader> parse_safetensors(std::span<const u8> begin, u64 size);
// Of the bytes of a whole file.
inline Result<SafetensorsHeader> parse_safetensors(std::span<const u8> file) {
  return parse_safetensors(file, file.size());
}

// The format's name of a dtype, or empty where it has none.
std::string_view safetensors_name(core::DType dtype);

inline constexpr std::string_view kSafetensorsMetadata = "__metadata__";
inline constexpr usize kSafetensorsLengthBytes = 8;

}  // namespace doorbell::io
