// Loading and writing of safetensors files.
#include "tensor/io/safetensors.h"

#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

namespace doorbell::io {

namespace {

struct Opened {
  os::Mapping mapping;
  SafetensorsHeader header;
};

Opened open_safetensors(const std::string& path, os::Files& files) {
  Result<os::Mapping> mapping = os::map_file(files, path);
  if (!mapping) throw std::move(mapping).error();
  Result<SafetensorsHeader> header = parse_safetensors(mapping->bytes());
  if (!header) {
    Error error = std::move(header).error();
    error.message = path + ": " + error.message;
    throw error;
  }
  return {std::move(mapping).value(), std::move(header).value()};
}

}  // namespace

SafetensorsHeader load_safetensors_header(const std::string& path, os::Files& files) {
  return open_safetensors(path, files).header;
}

Safetensors load_safetensors(const std::string& path, const std::string& device, os::Files& files) {
  Opened opened = open_safetensors(path, files);
  const std::span<const u8> bytes = opened.mapping.bytes();
  Safetensors loaded{.metadata = std::move(opened.header.metadata)};
  for (const SafetensorsEntry& entry : opened.header.entries) {
    const auto data = std::as_bytes(bytes.subspan(entry.begin, entry.end - entry.begin));
    loaded.tensors.emplace_back(
        entry.name, Tensor::from_bytes(data, entry.dtype, entry.shape, {.device = device}));
  }
  return loaded;
}

void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata, os::Files& files) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kSafetensorsMetadata)] = metadata;
  std::vector<Tensor> all;
  u64 offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::string_view dtype = safetensors_name(tensor.dtype());
    if (dtype.empty()) {
      throw fail(ErrorKind::Unsupported, "tensor {} has dtype {}, which the format lacks", name,
                 core::long_name_of(tensor.dtype().scalar));
    }
    if (name == kSafetensorsMetadata || header.contains(name)) {
      throw fail(ErrorKind::Invalid, "the name {} is taken", name);
    }
    const u64 end = offset + static_cast<u64>(tensor.nbytes());
    header[name] = {
        {"dtype", dtype}, {"shape", tensor.shape().values()}, {"data_offsets", {offset, end}}};
    offset = end;
    all.push_back(tensor);
  }
  Tensor::realize(all);
  std::string text = header.dump();
  text.append(
      (kSafetensorsLengthBytes - text.size() % kSafetensorsLengthBytes) % kSafetensorsLengthBytes,
      ' ');  // aligns the data
  std::vector<u8> file(kSafetensorsLengthBytes + text.size() + offset);
  const u64 length = text.size();
  std::memcpy(file.data(), &length, sizeof length);
  std::memcpy(file.data() + kSafetensorsLengthBytes, text.data(), text.size());
  u64 at = kSafetensorsLengthBytes + text.size();
  for (const Tensor& tensor : all) {
    const usize bytes = static_cast<usize>(tensor.nbytes());
    tensor.copy_to(std::as_writable_bytes(std::span(file)).subspan(at, bytes));
    at += bytes;
  }
  Result<void> written = os::replace_file(files, path, file, os::host_random().next());
  if (!written) throw std::move(written).error();
}

}  // namespace doorbell::io
