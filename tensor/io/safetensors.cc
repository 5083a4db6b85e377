// Loading and writing of safetensors files.
#include "tensor/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/util/try.h"
#include "tensor/api/disk.h"
#include "tensor/api/sharding.h"
#include "tensor/engine/must.h"

namespace doorbell::io {

namespace {

struct Opened {
  std::shared_ptr<core::StoredFile> file;  // by the tensors on it, too
  SafetensorsHeader header;
};

// The header alone is read: what is cut off meanwhile is an error when its tensor is.
Result<SafetensorsHeader> read_header(os::File& file) {
  TRY(const u64 size, file.size());
  std::vector<u8> begin(std::min<u64>(size, kSafetensorsLengthBytes));
  TRY(const usize got, file.read_at(0, begin));
  TRY(const u64 end, end_of_header(std::span(begin).first(got), size));
  begin.resize(end);
  TRY(const usize all, file.read_at(0, begin));
  if (all != end) return fail(ErrorKind::Corrupt, "header of {} bytes ends at byte {}", end, all);
  return parse_safetensors(begin, size);
}

Opened open_safetensors(const std::string& path, os::Files& files) {
  std::shared_ptr<core::StoredFile> file =
      engine::must(core::open_stored(files, path, core::FileUse::Read));
  Result<SafetensorsHeader> header = read_header(*file->file);
  if (!header) {
    Error error = std::move(header).error();
    error.message = path + ": " + error.message;
    throw error;
  }
  return {std::move(file), std::move(header).value()};
}

}  // namespace

SafetensorsHeader load_safetensors_header(const std::string& path, os::Files& files) {
  return open_safetensors(path, files).header;
}

Safetensors load_safetensors(const std::string& path, const std::string& device, os::Files& files) {
  Opened opened = open_safetensors(path, files);
  const u16 at = detail::device_number_named(device);
  Safetensors loaded{.metadata = std::move(opened.header.metadata)};
  for (const SafetensorsEntry& entry : opened.header.entries) {
    const Tensor stored = detail::disk_tensor(opened.file, entry.dtype, Shape(entry.shape),
                                              static_cast<i64>(entry.begin));
    loaded.tensors.emplace_back(entry.name,
                                detail::on_disk(at) ? stored : detail::read_disk(stored, at));
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
