// Records: literal words worked out from a vendor's layout, every kind of field, and every way to
// be unsound.
#include "base/bits/record.h"

#include <gtest/gtest.h>

#include "base/bits/print.h"

namespace doorbell {
namespace {

constexpr u32 pkt3(u32 opcode, u32 words) { return 0xc0000000 | (words - 2) << 16 | opcode << 8; }

// WAIT_REG_MEM of AMD's command processor, here as a worked example; the words below are taken by
// hand from the layout [nvd.h PACKET3_WAIT_REG_MEM; Mesa sid.h].
struct WaitRegMem {
  enum class Func : u8 { Always, Less, LessEqual, Equal, NotEqual, GreaterEqual, Greater };
  enum class Space : u8 { Register, Memory };
  static constexpr u32 kWords = 7, kHeader = pkt3(0x3c, kWords);

  Func func = Func::GreaterEqual;
  Space space = Space::Memory;
  u64 addr = 0;
  u32 reference = 0, mask = ~0u;
  u16 poll = 4;

  static constexpr void fields(auto& p, auto f) {
    f("func", word(1, 2, 0), p.func);
    f("space", word(1, 4, 4), p.space);
    f("addr", Bits{127, 64}, p.addr);
    f("reference", word(4), p.reference);
    f("mask", word(5), p.mask);
    f("poll", word(6, 15, 0), p.poll);
  }
};
std::string_view name_of(WaitRegMem::Space space) {
  return space == WaitRegMem::Space::Memory ? "Memory" : "Register";
}
static_assert(sound<WaitRegMem>());
static_assert(encode(WaitRegMem{.addr = 0x1'0000'2000, .reference = 7}) ==
              std::array<u32, 7>{0xc0053c00, 0x15, 0x2000, 0x1, 7, 0xffffffff, 4});

struct Handle {
  u64 value = 0;
  constexpr u64 bits() const { return value; }
  static constexpr Handle from_bits(u64 raw) { return {raw}; }
  bool operator==(const Handle&) const = default;
};

struct Kinds {
  static constexpr u32 kWords = 5;
  i32 offset = 0;
  bool on = false;
  f32 scale = 0;
  u64 page = 0;
  Handle handle;

  static constexpr void fields(auto& p, auto f) {
    f("offset", word(0, 11, 4), p.offset);
    f("on", Bits{31, 31}, p.on);
    f("scale", word(1), p.scale);
    f("page", Bits{99, 64}, p.page, Shift{12});
    f("handle", Bits{159, 104}, p.handle);
  }
};
static_assert(sound<Kinds>());

TEST(Record, DecodesLiteralWords) {
  constexpr std::array<u32, 7> words{0xc0053c00, 0x03, 0xdeadbeef, 0xab, 9, 0xff, 0x20};
  WaitRegMem wait = decode<WaitRegMem>(words);
  EXPECT_EQ(wait.func, WaitRegMem::Func::Equal);
  EXPECT_EQ(wait.space, WaitRegMem::Space::Register);
  EXPECT_EQ(wait.addr, 0xab'dead'beefu);
  EXPECT_EQ(wait.reference, 9u);
  EXPECT_EQ(wait.mask, 0xffu);
  EXPECT_EQ(wait.poll, 0x20);
}

TEST(Record, EncodesEveryKindOfField) {
  Kinds kinds{.offset = -3, .on = true, .scale = 1.0f, .page = 0xf123'4567'8000, .handle = {0xab}};
  // -3 in eight bits is 0xfd; 1.0f is 0x3f800000; the page number 0xf12345678 crosses a word.
  std::array<u32, 5> words{0x80000fd0, 0x3f800000, 0x12345678, 0x0000ab0f, 0};
  EXPECT_EQ(encode(kinds), words);
  Kinds back = decode<Kinds>(words);
  EXPECT_EQ(back.offset, -3);
  EXPECT_TRUE(back.on);
  EXPECT_EQ(back.scale, 1.0f);
  EXPECT_EQ(back.page, 0xf123'4567'8000u);
  EXPECT_EQ(back.handle, Handle{0xab});
}

TEST(Record, ValuesThatDoNotFitFailACheck) {
  EXPECT_THROW(encode(Kinds{.offset = 128}), InternalError);
  EXPECT_THROW(encode(Kinds{.offset = -129}), InternalError);
  EXPECT_EQ(encode(Kinds{.offset = 127})[0], 0x7f0u);
  EXPECT_EQ(encode(Kinds{.offset = -128})[0], 0x800u);
  EXPECT_THROW(encode(Kinds{.page = 0x1001}), InternalError) << "not a multiple of the page";
  EXPECT_THROW(encode(Kinds{.page = u64{1} << 48}), InternalError);
  EXPECT_THROW(encode(Kinds{.handle = {u64{1} << 56}}), InternalError);
}

TEST(Record, TryDecodeRefusesShortStreamsAndOtherHeaders) {
  std::vector<u32> words{0xc0053c00, 0x15, 0, 0, 7, 0, 4};
  EXPECT_EQ(try_decode<WaitRegMem>(words)->reference, 7u);
  EXPECT_STREQ(try_decode<WaitRegMem>(std::span(words).first(6)).error().what(),
               "6 words left, expected 7");
  words[0] = 0xc0053d00;
  EXPECT_STREQ(try_decode<WaitRegMem>(words).error().what(),
               "header is 0xc0053d00, expected 0xc0053c00");
}

TEST(Record, StrayBitsAreSeen) {
  constexpr std::array<u32, 7> words{0xc0053c00, 0x1d, 0, 0, 0, 0, 0x10004};
  EXPECT_EQ(stray_bits<WaitRegMem>(words), (std::array<u32, 7>{0, 0x8, 0, 0, 0, 0, 0x10000}));
}

TEST(Record, Prints) {
  EXPECT_EQ(print(WaitRegMem{.addr = 0x1000, .reference = 7}),
            "WaitRegMem func=5 space=Memory addr=0x1000 reference=7 mask=0xffffffff poll=4");
  EXPECT_EQ(print(Kinds{.offset = -20, .on = true, .scale = 0.5f}),
            "Kinds offset=-20 on=1 scale=0.5 page=0 handle=0");
}

// Each has one fault.
struct Overlap {
  static constexpr u32 kWords = 1;
  u8 a = 0, b = 0;
  static constexpr void fields(auto& p, auto f) {
    f("a", Bits{7, 0}, p.a);
    f("b", Bits{14, 7}, p.b);
  }
};
struct Beyond {
  static constexpr u32 kWords = 1;
  u8 a = 0;
  static constexpr void fields(auto& p, auto f) { f("a", Bits{32, 25}, p.a); }
};
struct Wide {
  static constexpr u32 kWords = 1;
  u8 a = 0;
  static constexpr void fields(auto& p, auto f) { f("a", Bits{8, 0}, p.a); }
};
struct WideBool {
  static constexpr u32 kWords = 1;
  bool a = false;
  static constexpr void fields(auto& p, auto f) { f("a", Bits{1, 0}, p.a); }
};
struct InHeader {
  static constexpr u32 kWords = 1, kHeader = 0x80;
  u8 a = 0;
  static constexpr void fields(auto& p, auto f) { f("a", Bits{7, 0}, p.a); }
};
struct HalfFloat {
  static constexpr u32 kWords = 1;
  f32 a = 0;
  static constexpr void fields(auto& p, auto f) { f("a", Bits{15, 0}, p.a); }
};

TEST(Record, UnsoundLayoutsAreNamed) {
  EXPECT_STREQ(why_unsound<Overlap>(), "two fields overlap");
  EXPECT_STREQ(why_unsound<Beyond>(), "a field lies beyond the words");
  EXPECT_STREQ(why_unsound<Wide>(), "a field is wider than its type");
  EXPECT_STREQ(why_unsound<WideBool>(), "a field is wider than its type");
  EXPECT_STREQ(why_unsound<InHeader>(), "a field overlaps the header");
  EXPECT_STREQ(why_unsound<HalfFloat>(), "an f32 field is not 32 bits");
}

}  // namespace
}  // namespace doorbell
