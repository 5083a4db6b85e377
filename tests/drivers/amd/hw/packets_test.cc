// The lists of packets: each opcode has one record on a generation, or records with matches().
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "drivers/amd/hw/pm4/packets.h"
#include "drivers/amd/hw/sdma/packets.h"

namespace doorbell::amd::hw {
namespace {

template <class Record>
constexpr bool kTellsForms = requires { &Record::matches; };

constexpr Generation kAll[] = {Generation::Gfx9, Generation::Gfx10, Generation::Gfx11,
                               Generation::Gfx12};

TEST(Pm4Packets, HaveOneRecordOnEachGenerationUnlessTheyTellTheirForms) {
  for (Generation generation : kAll) {
    std::map<u32, int> records;
#define DOORBELL_PM4(Record)                                                 \
  if (includes(Record::kId.generations, generation) && !kTellsForms<Record>) \
    ++records[Record::kId.opcode];
#include "drivers/amd/hw/pm4/packets.def"
    for (const auto& [opcode, count] : records) EXPECT_EQ(count, 1) << std::hex << opcode;
  }
}

TEST(Pm4Packets, HaveARecordOrANameButNotBoth) {
  std::set<u32> records;
#define DOORBELL_PM4(Record) records.insert(Record::kId.opcode);
#include "drivers/amd/hw/pm4/packets.def"
#define DOORBELL_PM4_NAME(opcode, name) EXPECT_TRUE(records.insert(opcode).second) << name;
#include "drivers/amd/hw/pm4/packets.def"
  EXPECT_EQ(pm4_name(0x3c), "WAIT_REG_MEM");
  EXPECT_EQ(pm4_name(0xa5), "RUN_LIST");
  EXPECT_EQ(pm4_name(0x00), "");
}

TEST(Pm4Packets, AreFoundByOpcodeGenerationAndForm) {
  const auto words_of = [](Generation generation, std::span<const u32> words) {
    u32 count = 0;
    visit_pm4(generation, words,
              [&]<class Record>(std::type_identity<Record>) { count = Record::kWords; });
    return count;
  };
  const u32 kAcquire[] = {0xc0065800, 0}, kUnknown[] = {0xc0000000, 0};
  EXPECT_EQ(words_of(Generation::Gfx9, kAcquire), 7u);
  EXPECT_EQ(words_of(Generation::Gfx12, kAcquire), 8u);
  EXPECT_EQ(words_of(Generation::Gfx12, kUnknown), 0u);
  const u32 kOnRegister[] = {0xc0053c00, 0}, kOnMemory[] = {0xc0053c00, 0x10};
  EXPECT_TRUE(is_pm4<WaitReg>(Generation::Gfx11, kOnRegister));
  EXPECT_FALSE(is_pm4<WaitReg>(Generation::Gfx11, kOnMemory));
}

TEST(SdmaPackets, HaveARecordOrANameButNotBoth) {
  std::set<u32> records;
#define DOORBELL_SDMA(Record) \
  EXPECT_TRUE(records.insert(Record::kId.op).second) << Record::kId.name;
#include "drivers/amd/hw/sdma/packets.def"
#define DOORBELL_SDMA_NAME(op, name) EXPECT_TRUE(records.insert(op).second) << name;
#include "drivers/amd/hw/sdma/packets.def"
  EXPECT_EQ(sdma_name(1), "COPY");
  EXPECT_EQ(sdma_name(32), "DUMMY_TRAP");
  EXPECT_EQ(sdma_name(33), "");
}

TEST(SdmaPackets, SayTheirLength) {
  const u32 kNop[] = {0x00030000};
  EXPECT_EQ(sdma_words<SdmaNop>(kNop), 4u);
  const u32 kCopy[] = {0x00000001}, kBroadcast[] = {0x08000001};
  EXPECT_EQ(sdma_words<SdmaCopyLinear>(kCopy), 7u);
  EXPECT_EQ(sdma_words<SdmaCopyLinear>(kBroadcast), 9u);
  const u32 kWrite[] = {0x00000002, 0, 0, 2};
  EXPECT_EQ(sdma_words<SdmaWrite>(kWrite), 7u);
  // Engines 4.x have no GCR_REQ.
  EXPECT_FALSE(includes(SdmaGcr::kId.generations, Generation::Gfx9));
}

}  // namespace
}  // namespace doorbell::amd::hw
