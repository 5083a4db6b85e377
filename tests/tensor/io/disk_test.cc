// Tensors on files: what is read and written, how much of it, and what is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/doorbell.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// The host's files, counting the bytes that are read.
struct CountingFile final : os::File {
  CountingFile(std::unique_ptr<os::File> file, u64* read) : file(std::move(file)), read(read) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    *read += into.size();
    return file->read_at(offset, into);
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    return file->write_at(offset, bytes);
  }
  Result<u64> size() override { return file->size(); }
  Result<os::Mapping> map(const os::MapRequest& request) override { return file->map(request); }
  Result<int> ioctl(unsigned long request, void* argument) override {
    return file->ioctl(request, argument);
  }
  int descriptor() const override { return file->descriptor(); }

  std::unique_ptr<os::File> file;
  u64* read;
};

struct CountingFiles final : os::Files {
  Result<std::unique_ptr<os::File>> open(const std::string& path, os::Access access) override {
    Result<std::unique_ptr<os::File>> file = host.open(path, access);
    if (!file) return file;
    return std::make_unique<CountingFile>(std::move(file).value(), &read);
  }
  Result<os::Mapping> map_anonymous(const os::MapRequest& request) override {
    return host.map_anonymous(request);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    return host.rename(from, to);
  }
  Result<void> remove(const std::string& path) override { return host.remove(path); }
  Result<void> make_folders(const std::string& path) override { return host.make_folders(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return host.list(path);
  }
  bool exists(const std::string& path) override { return host.exists(path); }
  Result<os::FileStatus> status(const std::string& path) override { return host.status(path); }

  os::Files& host = os::host_files();
  u64 read = 0;
};

class Disk : public testing::Test {
 protected:
  void SetUp() override {
    if (Tensor::zeros({1}).contiguous().realize().device() == "NULL") GTEST_SKIP() << "NULL";
    folder_ = testing::TempDir() + "disk." + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  // A file with the bytes 0, 1, 2, ...
  std::string counting(const std::string& name, i64 bytes) const {
    std::ofstream file(path(name), std::ios::binary);
    for (i64 i = 0; i < bytes; ++i) file.put(static_cast<char>(i));
    return path(name);
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(Disk, AMissingFileIsMadeAndKeepsWhatIsAssigned) {
  const std::string device = "disk:" + path("new");
  Tensor x = Tensor::empty({2, 3}, {.dtype = dtypes::i16, .device = device});
  EXPECT_EQ(std::filesystem::file_size(path("new")), 12);
  EXPECT_EQ(x.device(), "DISK");
  expect_values(x, {0, 0, 0, 0, 0, 0});
  x.assign(Tensor::arange(6).reshape({2, 3}));
  EXPECT_EQ(bytes_of(path("new")), std::string("\0\0\1\0\2\0\3\0\4\0\5\0", 12));
  const Tensor again = Tensor::empty({3, 2}, {.dtype = dtypes::i16, .device = device});
  expect_values(again.to("CPU"), {0, 1, 2, 3, 4, 5});  // the file keeps what it has
}

TEST_F(Disk, ViewsAreReadWhereTheyAre) {
  const Tensor x = io::disk_tensor(counting("file", 24), {{4, 6}});
  expect_values(x[{1, Slice(2, 4)}], {8, 9});
  expect_values(x[{Slice(None, None, -2), 5}].to("CPU"), {23, 11});
  expect_values(x.transpose(0, 1)[{Slice(0, 2)}].to("CPU"), {0, 6, 12, 18, 1, 7, 13, 19});
  expect_values(x[{Slice(), Slice(1, 3)}].reshape({-1}).to("CPU"), {1, 2, 7, 8, 13, 14, 19, 20});
  expect_values(x[{0, Slice(0, 2)}].expand({2, 2}).to("CPU"), {0, 1, 0, 1});
  EXPECT_EQ((x[{3, 5}].to("CPU").item<int>()), 23);
  EXPECT_EQ((x[{3, 5}].item<int>()), 23);
  EXPECT_EQ((x[{Slice(2, 2)}].to("CPU").shape()), Shape({0, 6}));
  const Tensor words = io::disk_tensor(path("file"), {{11}}, {.dtype = dtypes::u16, .offset = 1});
  EXPECT_EQ(words.shape(), Shape({11}));
  expect_values(words[{Slice(0, 2)}].to("CPU"), {0x0201, 0x0403});
  expect_values(x.reshape({-1})[{Slice(1, 9)}].bitcast(dtypes::u32).to("CPU"),
                {0x04030201, 0x08070605});
  expect_values(x[{0}].bitcast(dtypes::i8).to("CPU"), {0, 1, 2, 3, 4, 5});
}

TEST_F(Disk, OnlyWhatIsShownIsRead) {
  std::ofstream(path("long")).close();
  std::filesystem::resize_file(path("long"), u64{6} << 30);
  CountingFiles files;
  const Tensor x = io::disk_tensor(path("long"), {{6, 1 << 30}}, {}, files);
  const Tensor part = x[{Slice(1, 6, 2), Slice(1000, 1010)}];
  EXPECT_EQ(files.read, 0);
  EXPECT_EQ(part.to("CPU").shape(), Shape({3, 10}));
  EXPECT_EQ(files.read, 30);
  expect_values(x[{5, Slice(-4, None)}].to("CPU"), {0, 0, 0, 0});
  EXPECT_EQ(files.read, 34);
  // What lies close together is read at once.
  EXPECT_EQ((x[{0, Slice(0, 4000, 2)}].to("CPU").numel()), 2000);
  EXPECT_EQ(files.read, 34 + 3999);
}

TEST_F(Disk, PlacesBeyond4GiBAreWritten) {
  std::ofstream(path("long")).close();
  std::filesystem::resize_file(path("long"), u64{5} << 30);
  Tensor x = io::disk_tensor(path("long"), {}, {.dtype = dtypes::i32});
  const i64 at = (i64{1} << 30) + 7;  // beyond 4 GiB in bytes
  x[{Slice(at, at + 2)}].assign(Tensor::of({5, 6}));
  expect_values(x[{Slice(at - 1, at + 3)}].to("CPU"), {0, 5, 6, 0});
  EXPECT_EQ(std::filesystem::file_size(path("long")), u64{5} << 30);
}

TEST_F(Disk, AssigningWritesNoMoreThanIsNamed) {
  Tensor x = io::disk_tensor(counting("file", 12), {{3, 4}});
  x[{1, Slice(1, 3)}] = 0;
  x[{Slice(), 3}] = Tensor::of({20, 21, 22});
  x[0].assign(x[2]);
  EXPECT_EQ(bytes_of(path("file")),
            std::string("\x08\x09\x0a\x16\x04\0\0\x15\x08\x09\x0a\x16", 12));
  x.transpose(0, 1)[{Slice(None, None, -1), 0}] = Tensor::of({1, 2, 3, 4});
  expect_values(x[0].to("CPU"), {4, 3, 2, 1});
}

TEST_F(Disk, ATensorIsStoredByToAndReadByOthers) {
  const std::string device = "DISK:" + path("a,b");  // commas separate devices, not here
  const Tensor stored = Tensor::of({1.5, 2.5}).to(device);
  EXPECT_EQ(stored.device(), "DISK");
  expect_values(Tensor::from_file(path("a,b"), {.dtype = dtypes::f32}), {1.5, 2.5});
  const Tensor file = Tensor::from_file(path("a,b"), {.dtype = dtypes::f32, .device = "DISK"});
  expect_values(file[{Slice(1, None)}].to("CPU"), {2.5});
  Tensor weights = Tensor::zeros({2}).contiguous();
  weights.assign(file);
  expect_values(weights, {1.5, 2.5});
  expect_values(file.shard({"CPU", "CPU:1"}, 0), {1.5, 2.5});
  Tensor half = Tensor::zeros({2}, {.dtype = dtypes::f16, .device = "DISK:" + path("zeros")});
  expect_values(half.to("CPU"), {0, 0});
  EXPECT_EQ(std::filesystem::file_size(path("zeros")), 4);
}

TEST_F(Disk, WhatIsRefused) {
  const std::string file = counting("file", 10);
  Tensor x = io::disk_tensor(file);
  EXPECT_EQ(message_of([&] { x + 1; }),
            "Add of a tensor on DISK, where nothing is computed; copy it to a device with to()");
  EXPECT_EQ(message_of([&] { x.sum(); }),
            "Cast of a tensor on DISK, where nothing is computed; copy it to a device with to()");
  EXPECT_EQ(message_of([&] { (void)x[{{0, 2}}].shape(); }),
            "Where of a tensor on DISK, where nothing is computed; copy it to a device with to()");
  EXPECT_EQ(message_of([&] { visualize(x[{Slice(0, 2)}], path("page")); }),
            "visualize of a tensor on DISK, where nothing is computed; copy it to a device with "
            "to()");
  EXPECT_EQ(message_of([&] { x.pad({{0, 1}}); }),
            "Pad of a tensor on DISK, where nothing is computed; copy it to a device with to()");
  EXPECT_EQ(message_of([&] { x + Tensor::empty({10}, {.dtype = dtypes::u8}); }),
            "Add of a tensor on DISK, where nothing is computed; copy it to a device with to()");
  EXPECT_EQ(message_of([&] { io::disk_tensor(file, {{3}}, {.dtype = dtypes::i32}); }),
            "file " + file + " has 10 bytes, expected 12 from byte 0 on");
  EXPECT_EQ(message_of([&] { io::disk_tensor(file, {{3}}, {.offset = 8}); }),
            "file " + file + " has 10 bytes, expected 3 from byte 8 on");
  EXPECT_EQ(message_of([&] { io::disk_tensor(file, {{3}}, {.offset = -1}); }),
            "file " + file + " has 10 bytes, expected 3 from byte -1 on");
  EXPECT_EQ(message_of([&] { io::disk_tensor(file, {}, {.offset = 11}); }),
            "file " + file + " has 10 bytes, none at byte 11");
  EXPECT_EQ(message_of([&] { io::disk_tensor(file, {}, {.dtype = dtypes::i32}); }),
            file + " has 10 bytes, not a multiple of the 4 of int32");
  EXPECT_EQ(message_of([&] { Tensor::empty({11}, {.device = "DISK:" + file}); }),
            "file " + file + " has 10 bytes, expected 44 from byte 0 on");
  EXPECT_EQ(message_of([&] { Tensor::empty({2}, {.device = "DISK"}); }),
            "8 bytes on DISK without a file: name one, as in \"DISK:/path\"");
  EXPECT_EQ(message_of([&] { Tensor::zeros({2}).to("DISK"); }),
            "DISK without a file: name one, as in \"DISK:/path\"");
  EXPECT_EQ(message_of([&] { x.clone(); }),
            "10 bytes on DISK without a file: name one, as in \"DISK:/path\"");
  EXPECT_EQ(message_of([&] { x.expand({2, 10}).assign(Tensor::of(1)); }),
            "cannot assign to an expanded tensor of shape (2, 10): it shows elements several "
            "times");
  EXPECT_EQ(message_of([&] { x[{Slice(None, None, 2)}].assign(Tensor::zeros({4})); }),
            "cannot assign float32 of shape (4) to uint8 of shape (5)");
  EXPECT_EQ(message_of([&] {
              x.reshape({2, 5}).transpose(0, 1).reshape({10}).assign(Tensor::arange(10));
            }),
            "cannot assign to a tensor on DISK of shape (10), whose elements lie at no regular "
            "distances in the file");
  EXPECT_EQ(message_of([&] { x[{Slice(None, 8, 2)}].bitcast(dtypes::u32); }),
            "cannot bitcast uint8 of shape (4) on DISK to uint32: its elements lie apart in the "
            "file");
}

TEST_F(Disk, FilesThatAreNone) {
  const std::string missing = path("none/file");
  EXPECT_EQ(message_of([&] { io::disk_tensor(missing); }),
            "open " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { Tensor::empty({1}, {.device = "DISK:" + missing}); }),
            "open " + missing + ": No such file or directory");
  EXPECT_EQ(message_of([&] { Tensor::empty({1}, {.device = "DISK:" + folder_}); }),
            "open " + folder_ + ": Is a directory");
  EXPECT_EQ(message_of([&] { Tensor::empty({1}, {.device = "DISK:/dev/full"}); }),
            "open /dev/full: it is a device node, expected a regular file");
  EXPECT_EQ(message_of([&] { Tensor::empty({1}, {.device = "DISK:"}); }),
            "DISK without a file: name one, as in \"DISK:/path\"");
  EXPECT_EQ(message_of([&] { Tensor::rand({1}, {.device = "DISK:" + path("rand")}); }),
            "a tensor on the file DISK:" + path("rand") +
                " is made by empty() or to(), and by nothing else");
  const std::string huge = path("huge");
  EXPECT_NE(message_of([&] {
              Tensor::empty({i64{1} << 60}, {.device = "DISK:" + huge});
            }).find("File too large"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(huge));
}

TEST_F(Disk, AFileCutOffMeanwhileIsAnError) {
  const std::string file = counting("file", 100);
  Tensor x = io::disk_tensor(file);
  std::filesystem::resize_file(file, 50);
  expect_values(x[{Slice(48, 50)}].to("CPU"), {48, 49});
  EXPECT_EQ(message_of([&] { x[{Slice(40, 60)}].to("CPU"); }),
            "file " + file + " ends at byte 50 now, expected at least 60 bytes");
  EXPECT_EQ(message_of([&] { x[{Slice(60, 62)}] = 1; }),
            "file " + file + " has 50 bytes now, expected at least 62");
  EXPECT_EQ(std::filesystem::file_size(file), 50);
}

TEST_F(Disk, FilesThatMayNotBeWrittenAreRead) {
  const std::string file = counting("file", 4);
  Tensor x = io::disk_tensor(file, {}, {.writable = false});
  expect_values(x.to("CPU"), {0, 1, 2, 3});
  EXPECT_EQ(message_of([&] { x[{0}] = 1; }), "file " + file + " is open for reading only");
  chmod(file.c_str(), 0400);
  if (geteuid() == 0) GTEST_SKIP() << "root may write to any file";
  Tensor guarded = io::disk_tensor(file);
  expect_values(guarded.to("CPU"), {0, 1, 2, 3});
  EXPECT_EQ(message_of([&] { guarded[{0}] = 1; }), "file " + file + " is open for reading only");
}

TEST_F(Disk, JittedFunctionsNeitherReadNorWriteFiles) {
  const Tensor x = io::disk_tensor(counting("file", 4));
  auto load = jit([&] { return x.to("CPU") + 1; });
  expect_values(load(), {1, 2, 3, 4});
  EXPECT_EQ(message_of([&] { load(); }),
            "a file is read inside a function that jit captures, which later calls would not do "
            "again; do it outside");
  const std::string refused =
      "a part of a file as an argument or result of a jitted function; copy it to a device with "
      "to()";
  auto part = jit([&] { return x[{Slice(1, 3)}]; });
  EXPECT_EQ(message_of([&] { part(); }), refused);
  auto add = jit([](const Tensor& y) { return y.to("CPU") + 1; });
  EXPECT_EQ(message_of([&] { add(x[{Slice(1, 3)}]); }), refused);
}

TEST_F(Disk, SafetensorsStayOnTheDisk) {
  const std::string file = path("model.safetensors");
  io::save_safetensors(file, {{"a", Tensor::of({{1.0, 2.0}, {3.0, 4.0}})},
                              {"b", Tensor::of({7}, {.dtype = dtypes::u8})},
                              {"c", Tensor::arange(3)}});
  const nn::NamedTensors loaded = io::load_safetensors(file, "DISK").tensors;
  ASSERT_EQ(loaded.size(), 3u);
  EXPECT_EQ(loaded[0].second.device(), "DISK");
  expect_values(loaded[0].second[1].to("CPU"), {3, 4});
  expect_values(loaded[2].second.to("CPU"), {0, 1, 2});  // at an odd byte
  EXPECT_EQ(message_of([&] { Tensor(loaded[1].second).assign(Tensor::of({1})); }),
            "file " + file + " is open for reading only");
  io::save_safetensors(path("copy"), loaded);
  EXPECT_EQ(bytes_of(path("copy")), bytes_of(file));
}

// Random chains of movement ops on a file against the same in memory, read and assigned to.
TEST_F(Disk, RandomViewsAreThoseOfMemory) {
  std::mt19937 random(7);
  auto pick = [&](i64 low, i64 high) {
    return std::uniform_int_distribution<i64>(low, high)(random);
  };
  int assigned = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string file = counting("file", 240);
    Tensor disk = io::disk_tensor(file, {{4, 5, 12}});
    Tensor memory = Tensor::from_file(file).reshape({4, 5, 12}).contiguous();
    Tensor x = disk, y = memory;
    auto both = [&](auto move) { x = move(x), y = move(y); };
    for (i64 steps = pick(1, 4); steps > 0 && x.ndim() > 0; --steps) {
      const i64 axis = pick(0, x.ndim() - 1), size = x.size(axis).value();
      std::vector<Index> index(static_cast<usize>(x.ndim()), Index(Slice()));
      switch (pick(0, 4)) {
        case 0: both([&](const Tensor& t) { return t.transpose(axis, 0); }); break;
        case 1:
          index[static_cast<usize>(axis)] =
              Slice(pick(0, size / 2), pick(size / 2, size), pick(1, 3));
          both([&](const Tensor& t) { return t.at(index); });
          break;
        case 2:
          index[static_cast<usize>(axis)] = Slice(None, None, -pick(1, 2));
          both([&](const Tensor& t) { return t.at(index); });
          break;
        case 3: both([&](const Tensor& t) { return t.reshape({-1}); }); break;
        default:
          if (size == 0) break;
          index[static_cast<usize>(axis)] = pick(0, size - 1);
          both([&](const Tensor& t) { return t.at(index); });
      }
    }
    ASSERT_EQ(x.to("CPU").to_bytes(), y.to_bytes()) << round;
    ASSERT_EQ(x.to_bytes(), y.to_bytes()) << round;
    const Tensor values = (Tensor::arange(240)[{Slice(0, y.numel())}] + 7).reshape(y.shape());
    try {
      x.assign(values);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::Unsupported) << error.message;  // no regular distances
      continue;
    }
    y.assign(values);
    EXPECT_EQ(disk.to_bytes(), memory.to_bytes()) << round;
    ++assigned;
  }
  EXPECT_GT(assigned, 30);
}

}  // namespace
}  // namespace doorbell::test
