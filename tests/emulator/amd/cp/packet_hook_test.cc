// The hook of the mutation suite, which drops, changes, repeats and reorders packets on their way.
#include "emulator/amd/cp/packet_hook.h"

#include "tests/emulator/amd/cp/rules_test.h"

namespace doorbell::emu::amdgpu {
namespace {

class DropEvents final : public PacketHook {
 public:
  Verdict packet(QueueId, QueueKind, unsigned depth, std::vector<u32>& words) override {
    ++seen;
    deepest = std::max(deepest, depth);
    if ((words[0] >> 8 & 0xff) == 0x46) return Verdict::Skip;
    if ((words[0] >> 8 & 0xff) == 0x37) words[4] ^= 1;
    return Verdict::Take;
  }
  Verdict doorbell(QueueId, u64&) override { return deaf ? Verdict::Skip : Verdict::Take; }
  int seen = 0;
  unsigned deepest = 0;
  bool deaf = false;
};

TEST_F(DispatchRulesTest, HooksDropAndCorruptPackets) {
  DropEvents hook;
  put_words(kIb, {packet3(0x46, 1), 7 | 4 << 8, packet3(0x37, 4), 5 << 8, lo(kData), hi(kData), 6});
  open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
  submit({packet3(0x3f, 3), lo(kIb), hi(kIb), 7 | 1 << 23});
  EXPECT_EQ(peek<u32>(kData), 7u);
  EXPECT_EQ(hook.seen, 3);
  EXPECT_EQ(hook.deepest, 1u);
  EXPECT_EQ(peek<u32>(kReadPointer), 4u);
  hook.deaf = true;
  submit({0xffff1000});
  EXPECT_EQ(peek<u32>(kReadPointer), 4u);
}

// WRITE_DATA of 1 and 2 to one place, an atomic add behind them.
class Reorder final : public PacketHook {
 public:
  explicit Reorder(Verdict verdict) : verdict_(verdict) {}
  Verdict packet(QueueId, QueueKind, unsigned, std::vector<u32>& words) override {
    const bool is_it = words.size() > 4 && words[4] == 1 && (words[0] >> 8 & 0xff) != 0x3f;
    return is_it && seen_++ == 0 ? verdict_ : Verdict::Take;
  }

 private:
  const Verdict verdict_;
  int seen_ = 0;
};

TEST_F(DispatchRulesTest, HooksRepeatAndReorderPackets) {
  const auto write = [&](u32 value) {
    return std::vector<u32>{packet3(0x37, 4), 5 << 8 | 1 << 20, lo(kData), hi(kData), value};
  };
  // An add of 64 bits (0x2f) of 1.
  const std::vector<u32> add{packet3(0x1e, 8), 0x2f, lo(kData), hi(kData), 1, 0, 0, 0, 0};
  for (const auto& [verdict, is_add, wanted] : {std::tuple{HookVerdict::Take, false, 2u},
                                                {HookVerdict::Later, false, 1u},
                                                {HookVerdict::Skip, false, 2u},
                                                {HookVerdict::Again, true, 4u}}) {
    Reorder hook(verdict);
    put_words(kIb, is_add ? write(2) + add : write(1) + write(2));
    poke<u64>(kData, 0), put_ = 0, poke<u32>(kReadPointer, 0);
    open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
    submit({packet3(0x3f, 3), lo(kIb), hi(kIb), (is_add ? 14u : 10u) | 1 << 23});
    EXPECT_EQ(peek<u32>(kData), wanted) << static_cast<int>(verdict) << stopped();
  }
}

// A filler of two words becomes one of three, which takes the next packet along.
class Longer final : public PacketHook {
 public:
  Verdict packet(QueueId, QueueKind, unsigned, std::vector<u32>& words) override {
    if ((words[0] >> 8 & 0xff) == 0x10 && words.size() == 2) words[0] += 1 << 16;
    return Verdict::Take;
  }
};

TEST_F(DispatchRulesTest, HooksChangeHowLongAPacketIs) {
  Longer hook;
  for (const bool in_buffer : {false, true}) {
    put_ = 0, poke<u32>(kReadPointer, 0);
    open({.generation = hw::Generation::Gfx11, .hook = &hook}, QueueKind::Pm4);
    const std::vector<u32> words{packet3(0x10, 1), 0, 0xdead, 0xffff1000};
    put_words(kIb, words);
    if (in_buffer)
      submit({packet3(0x3f, 3), lo(kIb), hi(kIb), 4 | 1 << 23});
    else
      submit(words);
    EXPECT_EQ(stopped(), "");
    EXPECT_EQ(peek<u32>(kReadPointer), 4u);
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
