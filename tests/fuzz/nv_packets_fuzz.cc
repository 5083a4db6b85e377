// NVIDIA's packets: streams of any words are read to their end and printed; decode and encode of
// every record keep what its fields claim, and so do QMDs.
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/methods.h"
#include "drivers/nv/hw/stream/stream.h"

using namespace doorbell;
using namespace doorbell::nv::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

template <class T>
void round_trip(std::span<const u32> words) {
  const auto exact = words.first<T::kWords>();
  const Words<T> back = encode(decode<T>(exact)), mask = fields_mask<T>();
  for (u32 i = 0; i < T::kWords; ++i)
    CHECK(back[i] == (exact[i] & mask[i]), "word {} is {:#x}, was {:#x}", i, back[i], exact[i]);
}

void records(std::span<const u32> words) {
#define DOORBELL_NV_METHODS(kind, Record) round_trip<Record>(words);
#include "drivers/nv/hw/methods.def"
  round_trip<MethodHeader>(words);
  round_trip<GpEntry>(words);
  round_trip<GpControlEntry>(words);
}

void qmd(QmdVersion version, std::span<const u32> words) {
  const Qmd read = *Qmd::from_words(version, words.first(qmd_words(version)));
  Qmd written(version);
  for (usize i = 0; i < kQmdFields; ++i) {
    const auto field = static_cast<QmdField>(i);
    for (u32 element = 0; element < Qmd::elements(field); ++element)
      if (Qmd::position(version, field, element))
        written.set(field, read.get(field, element), element);
  }
  const auto stray = read.stray_bits();
  for (u32 i = 0; i < qmd_words(version); ++i)
    CHECK((written.words()[i] | stray[i]) == read.words()[i], "word {}", i);
}

}  // namespace

// Input: kind and chip (1 byte), then words. Pushbuffers and QMDs find the stream itself.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < 5) return 0;
  const auto kind = static_cast<StreamKind>(data[0] % 3);
  constexpr std::string_view kChips[] = {"sm_75", "sm_86", "sm_90", "sm_120"};
  const std::string_view chip = kChips[data[0] / 3 % 4];
  std::vector<u32> words((size - 1) / sizeof(u32));
  std::memcpy(words.data(), data + 1, words.size() * sizeof(u32));

  const auto memory = [&](u64, u32 count) -> std::optional<std::vector<u32>> {
    if (count > words.size()) return std::nullopt;
    return std::vector<u32>(words.begin(), words.begin() + count);
  };
  usize read = 0, visited = 0;
  walk_stream(kind, usual_subchannels(*find_classes(chip)), words,
              words.size() < 64 ? ReadWords(memory) : ReadWords(),
              [&](const StreamPacket& packet, int depth) {
                if (depth == 0) read += packet.words;
                if (++visited > 1000) return;
                CHECK(!to_text(packet).empty() && to_json(packet).ends_with('}'), "not printed");
              });
  CHECK(visited == kMaxPackets || read == words.size(), "{} words read of {}", read, words.size());

  words.resize(std::max<usize>(words.size(), kQmdMaxWords));
  records(words);
  for (const QmdVersion version : {QmdVersion::V3_0, QmdVersion::V4_0, QmdVersion::V5_0})
    qmd(version, words);
  return 0;
}
