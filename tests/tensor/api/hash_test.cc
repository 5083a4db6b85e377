// Hashes against hashlib of Python 3.11: `hashlib.sha3_256(message(20, 0)).hexdigest()`, shake_128
// with 16 and shake_256 with 32 bytes. The tree is hashlib.shake_128 of 4096-byte pieces, 256 of
// them hashed again.
#include "tests/tensor/reference.h"

namespace doorbell::test {
namespace {

// bytes((7 * i + 31 * seed + i // 8) % 256 for i in range(length))
std::vector<u8> message(usize length, usize seed) {
  std::vector<u8> bytes;
  for (usize i = 0; i < length; ++i) bytes.push_back(static_cast<u8>(7 * i + 31 * seed + i / 8));
  return bytes;
}

std::string hex(const Tensor& digest) {
  std::string text;
  for (u8 byte : digest.to_vector<u8>()) text += fmt::format("{:02x}", byte);
  return text;
}

struct Case {
  const char* name;
  usize length;
  const char* digest;
};

TEST(Keccak, AgreesWithHashlib) {
  const Case cases[] = {
      {"sha3_224", 20, "fcb4af88044fccea1644d98c8020bee7b5786dcd32a5affabe987d2b"},
      {"sha3_224", 143, "eac95bdbbefb811c7dca9cfdcac6e4ec3d59f7a9bac0167186fb87c2"},
      {"sha3_256", 0, "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"},
      {"sha3_256", 20, "cb5f42ad9d66ea2b66df38541e39ddb84b520d559d8f94ec7f13e02d5c2b88ea"},
      {"sha3_256", 135, "a2ee680383ddb9b3fbce05dc5d3baf07718debf73a4cbb4d2bb4edf4dfd5dacf"},
      {"sha3_256", 136, "495639399ce8a1f7a0759ded4b37cbbd026c12830d9e8702ab3f62ac0c7927e1"},
      {"sha3_256", 137, "f75be19a9bdecdfe9c679fd82439558097bb70b132d8912a839a5d6cf92559ee"},
      {"sha3_384", 20,
       "8ac42980639091c4eda6245c566502088e40175d4e7452545352dc24aafd2352"
       "1994a3c330c95896a187f4e9e7c"
       "74cb8"},
      {"sha3_384", 103,
       "8b72c068abe6657b14eed30cdf63abd700d6a6425fafcc05c22dc2fca145170e"
       "0c21d780ac2c64b1ca2deebec7f"
       "309da"},
      {"sha3_512", 20,
       "5c4077252c429c2e308b68ce91a594e6cc3e8c7769b73098e862ff59c1e63b55"
       "8309edcf44c911c877f21b846d4"
       "cda2624e55bcace1282d3f6b4703874b903d1"},
      {"sha3_512", 71,
       "83c4c8bf42df4b7e41cbafe0dde22855388fe2c49c442d9c95ea5de330113135"
       "6391eaf21fd6072091d6a61e26d"
       "631b732c3918308c3fcd099055775adfc77d6"},
      {"shake_128", 20, "a6b8c12aef2371a67c5d13b14599ae66"},
      {"shake_128", 167, "d01126605695faaded97a85a040c9d63"},
      {"shake_256", 20, "da6481a39f1002fb341b94605d871c37f115f1cb7ecdfb9d86fdcb1f6beffcda"},
      {"shake_256", 135, "d206b2da05643d839512b60c788c79981750db90a2bb3d20e5e96b94455d2282"},
  };
  for (const Case& c : cases) {
    const std::vector<u8> bytes = message(c.length, 0);
    EXPECT_EQ(hex(Tensor::from_data(bytes, {static_cast<i64>(c.length)}).keccak(c.name)), c.digest)
        << c.name << " of " << c.length;
  }
}

TEST(Keccak, HashesEveryRow) {
  std::vector<u8> rows = message(20, 0);
  for (u8 byte : message(20, 1)) rows.push_back(byte);
  const Tensor digests = Tensor::from_data(rows, {2, 1, 20}).keccak();
  EXPECT_EQ(digests.shape().str(), "(2, 1, 32)");
  EXPECT_EQ(hex(digests[0]), "cb5f42ad9d66ea2b66df38541e39ddb84b520d559d8f94ec7f13e02d5c2b88ea");
  EXPECT_EQ(hex(digests[1]), "fc8231dd895cfdcf25a45352b8cd88ed5c001989e3e2b36715e7b75f14791506");
  EXPECT_EQ(Tensor::empty({0, 5}, {.dtype = dtypes::u8}).keccak().shape().str(), "(0, 32)");
}

TEST(Keccak, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(message_of([] { Tensor::zeros({3}, {.dtype = dtypes::u8}).keccak("md5"); }),
            "no hash md5, expected sha3_224, sha3_256, sha3_384, sha3_512, shake_128 or shake_256");
  EXPECT_EQ(message_of([] { Tensor::zeros({3}).keccak(); }),
            "sha3_256 of shape (3) and dtype float32, expected rows of uint8");
}

TEST(Hash, StandsForTheBytes) {
  EXPECT_EQ(hex(Tensor::of({1.5, -2.0}).hash()), "ec699771439a953f6c043486ff5e2d0d");
}

}  // namespace
}  // namespace doorbell::test
