// Files written by PyTorch, zipfile and tarfile (make_files.py), and damaged ones.
#include "tensor/io/files.h"

#include <filesystem>
#include <fstream>
#include <map>

#include "tensor/io/pickle.h"
#include "tensor/io/torch_file.h"
#include "tests/support/golden.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

std::string data_path(const std::string& name) {
  return testing::source_path("tests/tensor/io/data/" + name);
}

std::vector<u8> data_of(const std::string& name) {
  const std::string text = testing::read_source("tests/tensor/io/data/" + name);
  return {text.begin(), text.end()};
}

std::string refusal(std::span<const u8> file) {
  const auto parsed = io::parse_torch(file);
  return parsed ? "accepted" : parsed.error().message;
}

void expect_state(const std::string& file) {
  SCOPED_TRACE(file);
  std::map<std::string, Tensor> state;
  for (auto& [name, tensor] : io::torch_load(data_path(file))) state[name] = tensor;
  const auto expect = [&](const std::string& name, DType dtype, std::vector<i64> shape,
                          std::vector<double> values) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(state.contains(name));
    EXPECT_EQ(state[name].dtype(), dtype);
    expect_exact(state[name], {std::move(shape), std::move(values)});
  };
  expect("w", dtypes::f32, {2, 3}, {0, 1, 2, 3, 4, 5});
  expect("turned", dtypes::f32, {3, 2}, {0, 3, 1, 4, 2, 5});
  expect("part", dtypes::f32, {1, 2}, {4, 5});
  expect("parameter", dtypes::f32, {2}, {0.5, -1});
  expect("half", dtypes::f16, {1}, {1.5});
  expect("brain", dtypes::bf16, {1}, {-2});
  expect("double", dtypes::f64, {1}, {1e-3});
  expect("long", dtypes::i64, {2}, {-5, 1099511627776.0});
  expect("int", dtypes::i32, {1}, {7});
  expect("short", dtypes::i16, {1}, {-300});
  expect("char", dtypes::i8, {1}, {-8});
  expect("byte", dtypes::u8, {1}, {200});
  expect("bool", dtypes::bool_, {2}, {1, 0});
  expect("scalar", dtypes::f32, {}, {2.5});
  expect("empty", dtypes::f32, {0, 3}, {});
  expect("repeated", dtypes::f32, {3}, {4, 4, 4});
  expect("nested.list.0", dtypes::f32, {1}, {9});
  expect("nested.list.2.0", dtypes::f32, {1}, {10});
  expect("module.running_var", dtypes::f32, {1}, {1});
  expect("module.num_batches_tracked", dtypes::i64, {}, {0});
  const bool is_new = file == "state.pt";
  if (is_new) {
    expect("u16", dtypes::u16, {1}, {65535});
    expect("f8", dtypes::f8e4m3, {1}, {-1.5});
  }
  EXPECT_EQ(state.size(), is_new ? 25u : 23u);
}

TEST(TorchFile, LoadsWhatPyTorchSaved) {
  expect_state("state.pt");
  expect_state("legacy.pt");
  const nn::NamedTensors one = io::torch_load(data_path("tensor.pt"));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].first, "");
  expect_values(one[0].second, {1, 1});
}

TEST(TorchFile, RefusesWhatIsMoreThanTensors) {
  EXPECT_EQ(refusal(data_of("module.pt")),
            "the pickle names torch.nn.modules.linear.Linear at byte 2, which tensors do not need");
  EXPECT_EQ(refusal(data_of("files.zip")),
            "a zip archive without data.pkl, expected what torch.save wrote");
  EXPECT_EQ(refusal(data_of("files.tar.gz")),
            "neither a zip archive nor the magic number of torch.save");
  EXPECT_EQ(message_of([] { io::torch_load("/nowhere.pt"); }),
            "open /nowhere.pt: No such file or directory");
  EXPECT_TRUE(message_of([] {
                io::torch_load(data_path("module.pt"));
              }).starts_with(data_path("module.pt") + ": the pickle names"));
}

TEST(TorchFile, RefusesCutFiles) {
  for (const char* name : {"tensor.pt", "legacy.pt"}) {
    const std::vector<u8> whole = data_of(name);
    for (usize length = 0; length < whole.size(); length += 7)
      EXPECT_NE(refusal(std::span(whole).first(length)), "accepted") << name << " " << length;
  }
}

std::string pickle_refusal(const std::string& text) {
  const std::string_view allowed[] = {"collections.OrderedDict"};
  const auto bytes = std::span(reinterpret_cast<const u8*>(text.data()), text.size());
  const Result<io::Pickle> pickle = io::parse_pickle(bytes, allowed);
  return pickle ? "accepted" : pickle.error().message;
}

TEST(Pickle, RefusesWithThePlace) {
  EXPECT_EQ(pickle_refusal("K\x05."), "accepted");
  EXPECT_EQ(pickle_refusal(""), "an instruction without its end at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal("X\xff\xff\xff\x7f"), "text without its end at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal("cos\nsystem\n."),
            "the pickle names os.system at byte 0, which tensors do not need");
  EXPECT_EQ(pickle_refusal("\x80\x06."), "a protocol after the fifth at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal("t."), "a missing mark at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal("K\x01(0."), "a missing value at byte 3 of the pickle");
  EXPECT_EQ(pickle_refusal("K\x01K\x02."), "an end with values left over at byte 4 of the pickle");
  EXPECT_EQ(pickle_refusal("K\x01K\x02"
                           "a."),
            "items of something that takes none at byte 4 of the pickle");
  EXPECT_EQ(pickle_refusal("h\x07."), "a value that was not kept at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal("i."), "instruction 0x69 at byte 0 of the pickle");
  EXPECT_EQ(pickle_refusal(std::string("\x8a\x09", 2) + std::string(9, 'x') + "."),
            "an integer of more than 64 bits at byte 0 of the pickle");
  // A list that contains itself is a value, and is walked once.
  EXPECT_EQ(pickle_refusal(std::string("]q\0h\0a.", 7)), "accepted");
}

std::string text_of_bytes(const Tensor& bytes) {
  const std::vector<u8> values = bytes.to_vector<u8>();
  return {values.begin(), values.end()};
}

TEST(Archives, GiveTheFilesInside) {
  std::string packed;
  for (int i = 0; i < 20; ++i) packed += "again ";
  const nn::NamedTensors zip = io::zip_extract(data_path("files.zip"));
  ASSERT_EQ(zip.size(), 2u);
  EXPECT_EQ(zip[0].first, "stored.txt");
  EXPECT_EQ(text_of_bytes(zip[0].second), "plain");
  EXPECT_EQ(zip[1].first, "folder/packed.txt");
  EXPECT_EQ(text_of_bytes(zip[1].second), packed);
  const nn::NamedTensors tar = io::tar_extract(data_path("files.tar.gz"));
  ASSERT_EQ(tar.size(), 2u);
  EXPECT_EQ(tar[0].first, "folder/a.txt");
  EXPECT_EQ(text_of_bytes(tar[0].second), "first");
  EXPECT_EQ(tar[1].second.shape().str(), "(0)");
  EXPECT_NE(message_of([] { io::zip_extract(data_path("files.tar.gz")); }), "nothing was thrown");
}

TEST(FromUrl, ReadsPathsAndFileUrls) {
  const std::string path = data_path("files.tar.gz");
  EXPECT_EQ(io::from_url("file://" + path).numel(), io::from_url(path).numel());
  EXPECT_EQ(io::from_url(path, {.gunzip = true}).numel() % 512, 0);  // tar's blocks
  EXPECT_EQ(message_of([] { io::from_url("ftp://example.org/x"); }),
            "ftp://example.org/x: expected a path, file://, http:// or https://");
}

TEST(Cifar, LoadsRecords) {
  const std::string folder = ::testing::TempDir() + "doorbell_cifar";
  std::filesystem::create_directories(folder);
  u8 label = 0;
  const auto write = [&](const std::string& name, usize size) {
    std::string bytes(size, static_cast<char>(label + 10));
    if (size > 0) bytes[0] = static_cast<char>(label);
    ++label;
    std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
  };
  for (const char* part : {"1", "2", "3", "4", "5"})
    write(std::string("data_batch_") + part + ".bin", 3073);
  write("test_batch.bin", 3073);
  const io::Cifar cifar = io::load_cifar(folder);
  expect_values(cifar.train_labels, {0, 1, 2, 3, 4});
  EXPECT_EQ(cifar.train_images.shape().str(), "(5, 3, 32, 32)");
  expect_values(cifar.train_images[{3, 2, 31, 31}], {13});
  expect_values(cifar.test_labels, {5});
  write("test_batch.bin", 3072);
  EXPECT_EQ(message_of([&] { io::load_cifar(folder); }),
            folder + "/test_batch.bin: 3072 bytes, expected a multiple of 3073");
}

}  // namespace
}  // namespace doorbell::test
