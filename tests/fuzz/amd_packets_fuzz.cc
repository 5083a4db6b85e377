// AMD's packets: streams of any words are read to their end and printed; decode and encode of every
// record keep what its fields claim.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/pm4/flow.h"
#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/set_register.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"
#include "drivers/amd/hw/stream/stream.h"

using namespace doorbell;
using namespace doorbell::amd::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

template <class T>
void round_trip(std::span<const u32> words) {
  const auto exact = words.first<T::kWords>();
  const Words<T> back = encode(decode<T>(exact));
  const Words<T> mask = fields_mask<T>();
  for (u32 i = 0; i < T::kWords; ++i)
    CHECK((back[i] & mask[i]) == (exact[i] & mask[i]), "word {} is {:#x}, was {:#x}", i, back[i],
          exact[i]);
  CHECK(encode(decode<T>(back)) == back, "not stable");
}

template <class... T>
void round_trip_all(std::span<const u32> words) {
  (round_trip<T>(words), ...);
}

void records(std::span<const u32> words) {
  round_trip_all<Nop, PredExec, IndirectBuffer, DispatchInitiator, DispatchDirect, DispatchIndirect,
                 WaitRegMem, WaitRegMem64, WaitReg, CopyData, DmaData, WriteData, SetShReg,
                 SetUconfigReg, SetContextReg, EventWrite, AcquireMemGfx9, AcquireMem,
                 ReleaseMemGfx9, ReleaseMem>(words);
  round_trip_all<ComputeStart, ComputeNumThread, ComputePgm, ComputeDispatchPktAddr,
                 ComputeDispatchScratchBase, ComputeResourceLimits, ComputeTmpringSizeGfx9,
                 ComputeTmpringSizeGfx11, ComputeTmpringSizeGfx12, ComputeRestart, ComputePgmRsrc1,
                 ComputePgmRsrc2, ComputePgmRsrc3Gfx9, ComputePgmRsrc3Gfx10, ComputePgmRsrc3Gfx12,
                 ScratchResource, KernelDescriptor>(words);
  round_trip_all<AqlHeader, KernelDispatchPacket, BarrierPacket, Pm4IbPacket>(words);
  round_trip_all<SdmaCopyLinear, SdmaWrite, SdmaConstFill, SdmaNop, SdmaIndirect, SdmaFence,
                 SdmaTrap, SdmaPollRegmem, SdmaTimestamp, SdmaGcr, SdmaAtomic, SdmaSrbmWrite>(
      words);
}

}  // namespace

// Input: kind and generation (1 byte), then words. Indirect buffers find the stream itself.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < 5) return 0;
  const auto kind = static_cast<StreamKind>(data[0] % 3);
  const auto generation = static_cast<Generation>(data[0] / 3 % kGenerations);
  std::vector<u32> words((size - 1) / sizeof(u32));
  std::memcpy(words.data(), data + 1, words.size() * sizeof(u32));

  const auto memory = [&](u64, u32 count) -> std::optional<std::vector<u32>> {
    if (count > words.size()) return std::nullopt;
    return std::vector<u32>(words.begin(), words.begin() + count);
  };
  usize read = 0, visited = 0;
  walk_stream(kind, generation, words, words.size() < 64 ? ReadWords(memory) : ReadWords(),
              [&](const StreamPacket& packet, int depth) {
                if (depth == 0) read += packet.words;
                if (++visited > 1000) return;
                CHECK(!to_text(packet).empty() && to_json(packet).ends_with('}'), "not printed");
              });
  CHECK(visited == kMaxPackets || read == words.size(), "{} words read of {}", read, words.size());

  words.resize(std::max<usize>(words.size(), 16));
  records(words);
  return 0;
}
