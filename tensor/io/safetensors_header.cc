// Parsing of safetensors headers.
#include "tensor/io/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::io {

namespace {

using Json = nlohmann::json;
namespace dtypes = core::dtypes;

constexpr u64 kLengthBytes = kSafetensorsLengthBytes;
constexpr usize kMaxAxes = 16;
constexpr u64 kMaxHeader = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadata = kSafetensorsMetadata;

struct DTypeName {
  std::string_view name;
  core::DType dtype;
};
constexpr DTypeName kDTypes[] = {
    {"BOOL", dtypes::bool_}, {"U8", dtypes::u8},          {"I8", dtypes::i8},
    {"U16", dtypes::u16},    {"I16", dtypes::i16},        {"F16", dtypes::f16},
    {"BF16", dtypes::bf16},  {"U32", dtypes::u32},        {"I32", dtypes::i32},
    {"F32", dtypes::f32},    {"F64", dtypes::f64},        {"U64", dtypes::u64},
    {"I64", dtypes::i64},    {"F8_E4M3", dtypes::f8e4m3}, {"F8_E5M2", dtypes::f8e5m2},
};

// Names are cut short in messages: they come from a file.
std::string shown(std::string_view name) {
  constexpr usize kMax = 64;
  return Json(std::string(name.substr(0, kMax)))
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

Result<Json> parse_json(std::span<const u8> text) {
  std::set<std::string> names;
  std::string twice;
  // Depth 1 is inside the outer braces.
  const auto note_names = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth == 1 && event == Json::parse_event_t::key) {
      const std::string& name = value.get_ref<const std::string&>();
      if (!names.insert(name).second) twice = name;
    }
    return true;
  };
  Json header;
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  try {
    header = Json::parse(characters, note_names);
  } catch (const Json::parse_error& error) {
    return fail(ErrorKind::Corrupt, "header is not JSON at byte {}", kLengthBytes + error.byte);
  } catch (const Json::exception&) {
    return fail(ErrorKind::Corrupt, "header at byte {} has a number out of range", kLengthBytes);
  }
  if (!header.is_object())
    return fail(ErrorKind::Corrupt, "header at byte {} is no JSON object", kLengthBytes);
  if (!twice.empty())
    return fail(ErrorKind::Corrupt, "header at byte {} names {} twice", kLengthBytes, shown(twice));
  return header;
}

Result<u64> unsigned_of(const Json& value, std::string_view what, const std::string& name) {
  if (!value.is_number_unsigned())
    return fail(ErrorKind::Corrupt, "header at byte {}: {} of tensor {} is no whole number",
                kLengthBytes, what, name);
  return value.get<u64>();
}

Result<SafetensorsEntry> parse_entry(const std::string& name, const Json& value, u64 data_start,
                                     u64 data_bytes) {
  const std::string label = shown(name);
  SafetensorsEntry entry{.name = name};
  const bool complete = value.is_object() && value.size() == 3 && value.contains("dtype") &&
                        value.contains("shape") && value.contains("data_offsets") &&
                        value["dtype"].is_string() && value["shape"].is_array() &&
                        value["data_offsets"].is_array() && value["data_offsets"].size() == 2;
  if (!complete)
    return fail(ErrorKind::Corrupt,
                "header at byte {}: tensor {} needs dtype, shape and two data_offsets",
                kLengthBytes, label);
  const std::string& dtype = value["dtype"].get_ref<const std::string&>();
  const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                   [&](const DTypeName& one) { return one.name == dtype; });
  if (known == std::end(kDTypes))
    return fail(ErrorKind::Unsupported, "header at byte {}: tensor {} has dtype {}", kLengthBytes,
                label, shown(dtype));
  entry.dtype = known->dtype;
  if (value["shape"].size() > kMaxAxes)
    return fail(ErrorKind::Unsupported, "header at byte {}: tensor {} has {} axes, at most {}",
                kLengthBytes, label, value["shape"].size(), kMaxAxes);
  u64 bytes = static_cast<u64>(entry.dtype.bytes());
  for (const Json& size : value["shape"]) {
    TRY(const u64 count, unsigned_of(size, "shape", label));
    if (count > INT64_MAX || __builtin_mul_overflow(bytes, count, &bytes))
      return fail(ErrorKind::Corrupt, "header at byte {}: tensor {} has a size of {}", kLengthBytes,
                  label, count);
    entry.shape.push_back(static_cast<i64>(count));
  }
  TRY(entry.begin, unsigned_of(value["data_offsets"][0], "data_offsets", label));
  TRY(entry.end, unsigned_of(value["data_offsets"][1], "data_offsets", label));
  if (entry.begin > entry.end || entry.end > data_bytes)
    return fail(ErrorKind::Corrupt, "tensor {} lies at bytes {} to {}, the file's data has {}",
                label, entry.begin, entry.end, data_bytes);
  if (entry.end - entry.begin != bytes)
    return fail(ErrorKind::Corrupt, "tensor {} has {} bytes at byte {}, its shape needs {}", label,
                entry.end - entry.begin, data_start + entry.begin, bytes);
  entry.begin += data_start;
  entry.end += data_start;
  return entry;
}

Result<void> parse_metadata(const Json& value, SafetensorsHeader& header) {
  bool good = value.is_object();
  if (good) {
    for (const auto& [key, text] : value.items()) {
      good = good && text.is_string();
      if (good) header.metadata[key] = text.get<std::string>();
    }
  }
  if (!good)
    return fail(ErrorKind::Corrupt, "header at byte {}: {} must map names to texts", kLengthBytes,
                kMetadata);
  return {};
}

}  // namespace

Result<u64> end_of_header(std::span<const u8> begin, u64 size) {
  if (size < kLengthBytes || begin.size() < kLengthBytes)
    return fail(ErrorKind::Corrupt, "file is {} bytes, expected at least {}", size, kLengthBytes);
  u64 length;
  std::memcpy(&length, begin.data(), sizeof length);
  if (length > kMaxHeader || length > size - kLengthBytes)
    return fail(ErrorKind::Corrupt, "header length at byte 0 is {}, the file is {} bytes", length,
                size);
  return kLengthBytes + length;
}

Result<SafetensorsHeader> parse_safetensors(std::span<const u8> begin, u64 size) {
  TRY(const u64 data_start, end_of_header(begin, size));
  CHECK(begin.size() >= data_start, "{} bytes of a header of {}", begin.size(), data_start);
  TRY(const Json json, parse_json(begin.subspan(kLengthBytes, data_start - kLengthBytes)));
  const u64 data_bytes = size - data_start;
  SafetensorsHeader header;
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      TRY(parse_metadata(value, header));
      continue;
    }
    TRY(SafetensorsEntry entry, parse_entry(name, value, data_start, data_bytes));
    header.entries.push_back(std::move(entry));
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  u64 next = data_start;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != next)
      return fail(ErrorKind::Corrupt, "tensor {} starts at byte {}, expected {}", shown(entry.name),
                  entry.begin, next);
    next = entry.end;
  }
  if (next != size)
    return fail(ErrorKind::Corrupt, "the last tensor ends at byte {}, the file at {}", next, size);
  return header;
}

std::string_view safetensors_name(core::DType dtype) {
  const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                   [&](const DTypeName& one) { return one.dtype == dtype; });
  return known == std::end(kDTypes) ? std::string_view() : known->name;
}

}  // namespace doorbell::io
