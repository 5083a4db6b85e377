// Finds the files, and checks that they have MNIST's shapes.
#include "tools/doorbell/digits.h"

#include <string_view>

#include "base/os/host.h"
#include "tensor/io/idx.h"

namespace doorbell::tools {
namespace {

constexpr usize kShippedTrain = 8000;
constexpr std::string_view kFolders = DOORBELL_DATA_FOLDERS;  // "SOURCE/data:PREFIX/share/doorbell"

bool has_file(const std::string& path) {
  os::Files& files = os::host_files();
  return files.exists(path) || files.exists(path + ".gz");
}

// The error tells in which way the folder may be the wrong one.
void require_files(const std::string& folder, std::span<const std::string_view> names) {
  if (!os::host_files().exists(folder))
    throw fail(ErrorKind::NotFound, "{}: there is no such folder", folder);
  std::string missing;
  for (std::string_view name : names)
    if (!has_file(folder + "/" + std::string(name)))
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  if (!missing.empty())
    throw fail(ErrorKind::NotFound, "{}: not a folder of MNIST files, it lacks {} (or .gz)", folder,
               missing);
}

DigitSet load_set(const std::string& folder, std::string_view images_name,
                  std::string_view labels_name) {
  const std::string images_path = folder + "/" + std::string(images_name);
  const std::string labels_path = folder + "/" + std::string(labels_name);
  const Tensor images = io::load_idx(images_path), labels = io::load_idx(labels_path);
  if (images.dtype() != dtypes::u8 || images.ndim() != 3 || !images.size(1).is(28) ||
      !images.size(2).is(28))
    throw fail(ErrorKind::Corrupt, "{}: {} of shape {}, expected u8 images of 28 x 28", images_path,
               images.dtype().str(), images.shape().str());
  if (labels.dtype() != dtypes::u8 || labels.ndim() != 1 || !(labels.size(0) == images.size(0)))
    throw fail(ErrorKind::Corrupt, "{}: {} of shape {}, expected u8 labels of {} images",
               labels_path, labels.dtype().str(), labels.shape().str(), images.size(0).value());
  DigitSet set{images.to_vector<u8>(), labels.to_vector<i32>()};
  for (usize i = 0; i < set.size(); ++i)
    if (set.labels[i] > 9)
      throw fail(ErrorKind::Corrupt, "{}: label {} is {}, expected 0 to 9", labels_path, i,
                 set.labels[i]);
  return set;
}

DigitSet part_of(const DigitSet& set, usize begin, usize end) {
  const auto at = [](usize i) { return static_cast<std::ptrdiff_t>(i); };
  return {
      {set.images.begin() + at(begin * kDigitPixels), set.images.begin() + at(end * kDigitPixels)},
      {set.labels.begin() + at(begin), set.labels.begin() + at(end)}};
}

}  // namespace

Digits load_shipped_digits() {
  constexpr std::string_view kNames[] = {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  std::string tried;
  for (usize begin = 0; begin < kFolders.size();) {
    const usize end = std::min(kFolders.find(':', begin), kFolders.size());
    const std::string folder = std::string(kFolders.substr(begin, end - begin)) + "/mnist";
    begin = end + 1;
    tried += (tried.empty() ? "" : " or ") + folder;
    if (!has_file(folder + "/" + std::string(kNames[0]))) continue;
    require_files(folder, kNames);
    const DigitSet all = load_set(folder, kNames[0], kNames[1]);
    if (all.size() <= kShippedTrain)
      throw fail(ErrorKind::Corrupt, "{}: {} digits, expected 10000", folder, all.size());
    return {part_of(all, 0, kShippedTrain), part_of(all, kShippedTrain, all.size()), folder};
  }
  throw fail(ErrorKind::NotFound, "the digits that come with Doorbell are not in {}", tried);
}

Digits load_all_digits(const std::string& folder) {
  constexpr std::string_view kNames[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  require_files(folder, kNames);
  return {load_set(folder, kNames[0], kNames[1]), load_set(folder, kNames[2], kNames[3]), folder};
}

}  // namespace doorbell::tools
