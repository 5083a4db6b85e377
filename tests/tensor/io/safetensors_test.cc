// Safetensors: files written by hand, damaged in every way, and round trips.
#include "tensor/io/safetensors.h"

#include <cstdio>
#include <cstring>

#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

std::vector<u8> file_of(const std::string& header, usize data_bytes) {
  std::vector<u8> file(8 + header.size() + data_bytes);
  const u64 length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  for (usize i = 0; i < data_bytes; ++i) file[8 + header.size() + i] = static_cast<u8>(i);
  return file;
}

std::string refusal(const std::string& header, usize data_bytes = 4) {
  Result<io::SafetensorsHeader> parsed = io::parse_safetensors(file_of(header, data_bytes));
  return parsed ? "accepted" : parsed.error().message;
}

TEST(Safetensors, ParsesAFileWrittenByHand) {
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},)"
      R"("a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}})";
  Result<io::SafetensorsHeader> parsed = io::parse_safetensors(file_of(header, 7));
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->entries.size(), 2u);
  EXPECT_EQ(parsed->entries[0].name, "a");  // in the order of the bytes
  EXPECT_EQ(parsed->entries[0].dtype, dtypes::f32);
  EXPECT_EQ(parsed->entries[0].shape, (std::vector<i64>{1, 1}));
  EXPECT_EQ(parsed->entries[1].begin, 8 + header.size() + 4);
  EXPECT_EQ(parsed->metadata.at("format"), "pt");
}

TEST(Safetensors, AcceptsEmptyTensorsAndNoTensors) {
  EXPECT_EQ(refusal("{}", 0), "accepted");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[0,9],"data_offsets":[0,0]}})", 0), "accepted");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})"), "accepted");
}

TEST(Safetensors, RefusesWithTheOffset) {
  EXPECT_EQ(io::parse_safetensors(std::vector<u8>(7)).error().message,
            "file is 7 bytes, expected at least 8");
  std::vector<u8> longer = file_of("{}", 0);
  longer[0] = 3;
  EXPECT_EQ(io::parse_safetensors(longer).error().message,
            "header length at byte 0 is 3, the file is 10 bytes");
  longer[7] = 0xff;
  EXPECT_EQ(io::parse_safetensors(longer).error().message,
            "header length at byte 0 is 18374686479671623683, the file is 10 bytes");
  EXPECT_EQ(refusal(R"({"a":)"), "header is not JSON at byte 14");
  EXPECT_EQ(refusal("[]"), "header at byte 8 is no JSON object");
  EXPECT_EQ(refusal(R"({"a":1})"),
            R"(header at byte 8: tensor "a" needs dtype, shape and two data_offsets)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})"),
            R"(header at byte 8: tensor "a" has dtype "C64")");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]}})"),
            R"(header at byte 8: shape of tensor "a" is no whole number)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,5]}})"),
            R"(tensor "a" lies at bytes 0 to 5, the file's data has 4)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[3,2]}})"),
            R"(tensor "a" lies at bytes 3 to 2, the file's data has 4)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,4]}})"),
            R"(tensor "a" has 4 bytes at byte 61, its shape needs 3)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4294967296,4294967297],"data_offsets":[0,4]}})"),
            R"(header at byte 8: tensor "a" has a size of 4294967297)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})"),
            R"(tensor "a" starts at byte 63, expected 61)");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})"),
            "the last tensor ends at byte 64, the file at 65");
  EXPECT_EQ(refusal(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                    R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})"),
            R"(header at byte 8 names "a" twice)");
  EXPECT_EQ(refusal(R"({"__metadata__":{"x":1}})", 0),
            "header at byte 8: __metadata__ must map names to texts");
}

TEST(Safetensors, DamagedFilesNeverCrash) {
  const std::vector<u8> good =
      file_of(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
              R"("b":{"dtype":"I64","shape":[1],"data_offsets":[16,24]}})",
              24);
  ASSERT_TRUE(io::parse_safetensors(good));
  for (usize length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(io::parse_safetensors(std::span(good).first(length))) << length;
  }
  for (usize i = 0; i < good.size(); ++i) {
    for (u8 flip : {0x01, 0x10, 0x80}) {
      std::vector<u8> damaged = good;
      damaged[i] ^= flip;
      (void)io::parse_safetensors(damaged).has_value();
    }
  }
}

TEST(Safetensors, RoundTrip) {
  const std::string path = testing::TempDir() + "doorbell_round_trip.safetensors";
  const Array x = Array::noise({2, 3}, 1);
  io::save_safetensors(path,
                       {{"layer.weight", x.tensor()},
                        {"half", x.tensor(dtypes::f16)},
                        {"flags", Tensor::of({true, false, true})},
                        {"count", Tensor::of(7, {.dtype = dtypes::i64})},
                        {"none", Tensor::zeros({0, 2})},
                        {"lazy", x.tensor() * 2}},
                       {{"made by", "a test"}});
  const io::Safetensors loaded = io::load_safetensors(path);
  std::remove(path.c_str());
  std::map<std::string, Tensor> by_name(loaded.tensors.begin(), loaded.tensors.end());
  ASSERT_EQ(by_name.size(), 6u);
  expect_exact(by_name["layer.weight"], x);
  expect_close(by_name["half"], x, 1e-3, 1e-3);
  EXPECT_EQ(by_name["half"].dtype(), dtypes::f16);
  expect_values(by_name["flags"], {1, 0, 1});
  EXPECT_EQ(by_name["count"].item<i64>(), 7);
  EXPECT_EQ(by_name["none"].shape().str(), "(0, 2)");
  expect_close(by_name["lazy"], Array::make({2, 3}, [&](auto& at) { return 2 * x.at(at); }));
  EXPECT_EQ(loaded.metadata.at("made by"), "a test");
  EXPECT_EQ(message_of([] {
              io::save_safetensors("unused", {{"a", Tensor::of(1)}, {"a", Tensor::of(1)}});
            }),
            "the name a is taken");
}

TEST(Safetensors, MissingFilesSayWhich) {
  EXPECT_NE(message_of([] {
              io::load_safetensors("/nowhere/x.safetensors");
            }).find("/nowhere/x.safetensors"),
            std::string::npos);
}

}  // namespace
}  // namespace doorbell::test
