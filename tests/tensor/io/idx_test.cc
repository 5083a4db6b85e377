// IDX and gzip: files written by hand, and damaged.
#include "tensor/io/idx.h"

#include <cstdio>
#include <fstream>

#include "tensor/io/gzip.h"
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// Two rows of three bytes.
const std::vector<u8> kBytes = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 10, 20, 30, 40, 50, 60};
// The same, by `gzip -n`.
const std::vector<u8> kPacked = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                 0x03, 0x63, 0x60, 0xe0, 0x60, 0x62, 0x60, 0x60, 0x00,
                                 0x61, 0x66, 0x2e, 0x11, 0x39, 0x0d, 0x23, 0x1b, 0x00,
                                 0xe9, 0x4f, 0x76, 0xa5, 0x12, 0x00, 0x00, 0x00};

std::string refusal(std::vector<u8> bytes) {
  Result<io::IdxHeader> parsed = io::parse_idx(bytes);
  return parsed ? "accepted" : parsed.error().message;
}

struct TemporaryFile {
  TemporaryFile(const std::string& name, const std::vector<u8>& bytes)
      : path(testing::TempDir() + name) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path;
};

TEST(Idx, LoadsBytesPlainAndPacked) {
  const TemporaryFile plain("doorbell_idx", kBytes), packed("doorbell_idx_packed.gz", kPacked);
  for (const std::string& path :
       {plain.path, packed.path, testing::TempDir() + "doorbell_idx_packed"}) {
    const Tensor x = io::load_idx(path);
    EXPECT_EQ(x.dtype(), dtypes::u8);
    expect_exact(x, {{2, 3}, {10, 20, 30, 40, 50, 60}});
  }
}

TEST(Idx, TurnsBigEndianElements) {
  const TemporaryFile file("doorbell_idx_words",
                           {0, 0, 0x0c, 1, 0, 0, 0, 2, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe});
  expect_values(io::load_idx(file.path), {258, -2});
  const TemporaryFile reals("doorbell_idx_reals", {0, 0, 0x0d, 1, 0, 0, 0, 1, 0x3f, 0xc0, 0, 0});
  expect_values(io::load_idx(reals.path), {1.5});
}

TEST(Idx, RefusesWithTheOffset) {
  EXPECT_EQ(refusal({0, 0, 8}), "file is 3 bytes, expected at least 4");
  EXPECT_EQ(refusal({0, 1, 8, 1}),
            "magic word at byte 0 is 0x00010801, expected 0x00 0x00 type axes");
  EXPECT_EQ(refusal({0, 0, 7, 1}),
            "magic word at byte 0 is 0x00000701, expected 0x00 0x00 type axes");
  EXPECT_EQ(refusal({0, 0, 8, 17}), "17 axes at byte 3, at most 16");
  EXPECT_EQ(refusal({0, 0, 8, 2, 0, 0, 0, 2}), "file is 8 bytes, its 2 sizes end at byte 12");
  EXPECT_EQ(refusal({0, 0, 8, 1, 0, 0, 0, 2, 9}), "1 bytes of data at byte 8, the sizes need 2");
  std::vector<u8> huge = {0, 0, 8, 3};
  huge.insert(huge.end(), 12, 0xff);
  EXPECT_EQ(refusal(huge), "size 4294967295 at byte 12 is too large");
  EXPECT_EQ(refusal(kBytes), "accepted");
}

TEST(Idx, DamagedGzipIsRefused) {
  EXPECT_EQ(*io::unpack_gzip(kPacked, 1000), kBytes);
  EXPECT_EQ(io::unpack_gzip(kPacked, 10).error().message,
            "gzip data unpacks to more than 10 bytes");
  for (usize length = 0; length < kPacked.size(); ++length) {
    EXPECT_FALSE(io::unpack_gzip(std::span(kPacked).first(length), 1000)) << length;
  }
  std::vector<u8> damaged = kPacked;
  damaged[damaged.size() - 6] ^= 1;  // of the checksum
  EXPECT_FALSE(io::unpack_gzip(damaged, 1000));
  damaged = kPacked;
  damaged.push_back(0);
  EXPECT_FALSE(io::unpack_gzip(damaged, 1000));
}

}  // namespace
}  // namespace doorbell::test
