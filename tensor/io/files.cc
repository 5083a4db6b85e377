// Reading, and errors with the path before them.
#include "tensor/io/files.h"

#include <algorithm>

#include "base/os/fetch.h"
#include "tensor/api/disk.h"
#include "tensor/io/archive.h"
#include "tensor/io/gzip.h"
#include "tensor/io/torch_file.h"

namespace doorbell::io {

namespace {

constexpr usize kMaxBytes = usize{1} << 36;  // unpacked

template <class T>
T value_of(Result<T> result, const std::string& path) {
  if (result) return std::move(result).value();
  Error error = std::move(result).error();
  if (error.message.find(path) == std::string::npos) error.message = path + ": " + error.message;
  throw error;
}

Tensor bytes_tensor(std::span<const u8> bytes, const std::string& device) {
  return Tensor::from_data(bytes, {static_cast<i64>(bytes.size())}, {.device = device});
}

nn::NamedTensors extract(const std::string& path, ArchiveFormat format, const std::string& device,
                         os::Files& files) {
  const std::vector<u8> bytes = value_of(os::read_file(files, path), path);
  nn::NamedTensors tensors;
  for (const ArchiveEntry& entry : value_of(read_archive(bytes, format, kMaxBytes), path))
    tensors.emplace_back(entry.name, bytes_tensor(entry.bytes, device));
  return tensors;
}

}  // namespace

Tensor disk_tensor(const std::string& path, const std::optional<Shape>& shape,
                   const DiskOptions& options, os::Files& files) {
  const core::FileUse use = options.writable ? core::FileUse::Write : core::FileUse::Read;
  return detail::disk_tensor(value_of(core::open_stored(files, path, use), path), options.dtype,
                             shape, options.offset);
}

Tensor from_url(const std::string& url, const FetchOptions& options, os::Files& files) {
  constexpr std::string_view kFile = "file://";
  const bool is_file = url.starts_with(kFile);
  const bool is_remote = url.starts_with("http://") || url.starts_with("https://");
  if (!is_file && !is_remote && url.find("://") != std::string::npos) {
    throw fail(ErrorKind::Unsupported, "{}: expected a path, file://, http:// or https://", url);
  }
  const std::string path = is_file ? url.substr(kFile.size()) : url;
  std::vector<u8> bytes =
      value_of(is_remote ? os::fetch_url(url, kMaxBytes) : os::read_file(files, path), path);
  if (options.gunzip) bytes = value_of(unpack_gzip(bytes, kMaxBytes), path);
  return bytes_tensor(bytes, options.device);
}

nn::NamedTensors zip_extract(const std::string& path, const std::string& device, os::Files& files) {
  return extract(path, ArchiveFormat::Zip, device, files);
}

nn::NamedTensors tar_extract(const std::string& path, const std::string& device, os::Files& files) {
  return extract(path, ArchiveFormat::Tar, device, files);
}

nn::NamedTensors torch_load(const std::string& path, const std::string& device, os::Files& files) {
  const std::vector<u8> bytes = value_of(os::read_file(files, path), path);
  nn::NamedTensors tensors;
  for (const TorchEntry& entry : value_of(parse_torch(bytes), path)) {
    tensors.emplace_back(entry.name,
                         Tensor::from_bytes(std::as_bytes(std::span(entry.bytes)), entry.dtype,
                                            entry.shape, {.device = device}));
  }
  return tensors;
}

TorchValue torch_load_value(const std::string& path, os::Files& files) {
  const std::vector<u8> bytes = value_of(os::read_file(files, path), path);
  return value_of(parse_torch_value(bytes), path);
}

namespace {

constexpr usize kImageBytes = 3 * 32 * 32, kRecordBytes = 1 + kImageBytes;

// Records of a label and an image each.
struct Records {
  std::vector<u8> images, labels;

  void add(std::span<const u8> file, const std::string& name) {
    if (file.empty() || file.size() % kRecordBytes != 0) {
      throw fail(ErrorKind::Corrupt, "{}: {} bytes, expected a multiple of {}", name, file.size(),
                 kRecordBytes);
    }
    for (usize at = 0; at < file.size(); at += kRecordBytes) {
      const auto record = file.subspan(at, kRecordBytes);
      labels.push_back(record[0]);
      images.insert(images.end(), record.begin() + 1, record.end());
    }
  }
  std::pair<Tensor, Tensor> tensors(const std::string& device) const {
    const i64 count = static_cast<i64>(labels.size());
    return {Tensor::from_data(images, {count, 3, 32, 32}, {.device = device}),
            Tensor::from_data(labels, {count}, {.device = device})};
  }
};

}  // namespace

Cifar load_cifar(const std::string& path, const std::string& device, os::Files& files) {
  const bool packed = path.ends_with(".tar.gz") || path.ends_with(".tar");
  std::vector<ArchiveEntry> entries;
  if (packed) {
    const std::vector<u8> bytes = value_of(os::read_file(files, path), path);
    entries = value_of(read_archive(bytes, ArchiveFormat::Tar, kMaxBytes), path);
  }
  const auto add = [&](Records& records, const std::string& name) {
    if (!packed) {
      const std::string file = path + "/" + name;
      return records.add(value_of(os::read_file(files, file), file), file);
    }
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const ArchiveEntry& entry) {
      return entry.name == name || entry.name.ends_with("/" + name);
    });
    if (found == entries.end()) throw fail(ErrorKind::NotFound, "{}: no {} inside", path, name);
    records.add(found->bytes, path + "/" + name);
  };
  Records train, test;
  for (const char* part : {"1", "2", "3", "4", "5"})
    add(train, std::string("data_batch_") + part + ".bin");
  add(test, "test_batch.bin");
  Cifar cifar;
  std::tie(cifar.train_images, cifar.train_labels) = train.tensors(device);
  std::tie(cifar.test_images, cifar.test_labels) = test.tensors(device);
  return cifar;
}

}  // namespace doorbell::io
