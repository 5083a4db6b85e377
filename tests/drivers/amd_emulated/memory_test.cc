// Memory of every kind and coherence on emulated machines: what host, command processor and copy
// engine see of each other's bytes, how the page tables have it, and that nothing is left when it
// is freed. For kernels on it see memory_kernel_test.cc.
#include <sys/mman.h>

#include "base/os/host.h"
#include "tests/drivers/amd_emulated/emulated_test.h"

namespace doorbell::amd {
namespace {

using emu::Caching;
using emu::Place;

constexpr usize kBytes = 3 * 4096;
constexpr MemoryKind kKinds[] = {MemoryKind::Vram, MemoryKind::VisibleVram, MemoryKind::Host,
                                 MemoryKind::User};

struct MemoryTest : EmulatedTest, ::testing::WithParamInterface<OneGpu> {
  MemoryTest() {
    boot({.gpus = {GetParam().gpu}, .adversarial = GetParam().adversarial, .seed = 3});
    device = open(0);
    buffer = *Buffer::allocate(*device, kBytes);
    // The queues' own memory and the staging's is there from now on.
    for (hcq::Queue* queue : queues()) copy(*queue, buffer->memory().address, 0, 0);
    std::vector<u8> bytes = next_bytes();
    EXPECT_TRUE(buffer->copy_in(bytes.data(), kBytes));
    EXPECT_TRUE(buffer->copy_out(bytes.data(), kBytes));
  }
  std::array<hcq::Queue*, 2> queues() { return {&device->compute_queue(), &device->copy_queue()}; }
  Result<std::unique_ptr<KfdMemory>> allocate(MemoryKind kind, std::optional<Coherence> coherence) {
    return device->gpu().allocate({.bytes = kBytes,
                                   .kind = kind,
                                   .coherence = coherence,
                                   .user = kind == MemoryKind::User ? pages.data() : nullptr,
                                   .what = "what is tested"});
  }
  void copy(hcq::Queue& queue, u64 to, u64 from, u64 bytes = kBytes) {
    auto commands = queue.make_commands();
    commands->copy(to, from, bytes);
    ASSERT_TRUE(queue.submit(*commands));
    const Result<void> done = device->synchronize();
    ASSERT_TRUE(done) << done.error().message;
  }
  // Other bytes each time.
  std::vector<u8> next_bytes() {
    std::vector<u8> bytes(kBytes);
    ++turn;
    for (usize i = 0; i < kBytes; ++i) bytes[i] = static_cast<u8>(31 * turn + i + i / 251);
    return bytes;
  }
  // A queue reads what was written, by the host where it sees the memory, else by the other queue.
  // Real hardware wants an HDP flush behind the host's writes to VRAM (docs/hw/amd.md).
  void expect_read(KfdMemory& memory, hcq::Queue& reader, hcq::Queue& other) {
    const std::vector<u8> bytes = next_bytes();
    if (memory.host() != nullptr) {
      std::copy(bytes.begin(), bytes.end(), memory.host());
    } else {
      ASSERT_TRUE(buffer->copy_in(bytes.data(), kBytes));
      copy(other, memory.address(), buffer->memory().address);
    }
    const std::vector<u8> nothing(kBytes);
    ASSERT_TRUE(buffer->copy_in(nothing.data(), kBytes));
    copy(reader, buffer->memory().address, memory.address());
    std::vector<u8> got(kBytes);
    ASSERT_TRUE(buffer->copy_out(got.data(), kBytes));
    ASSERT_EQ(got, bytes);
  }
  // What a queue writes the host reads, where it sees the memory.
  void expect_written(KfdMemory& memory, hcq::Queue& writer) {
    const std::vector<u8> bytes = next_bytes();
    ASSERT_TRUE(buffer->copy_in(bytes.data(), kBytes));
    copy(writer, memory.address(), buffer->memory().address);
    ASSERT_EQ(std::vector<u8>(memory.host(), memory.host() + kBytes), bytes);
  }
  // Twice, so that what is stale of the first time shows; and nothing is left afterwards.
  void expect_exchanged(MemoryKind kind, std::optional<Coherence> coherence) {
    const usize before = machine->kfd().buffers().count();
    Result<std::unique_ptr<KfdMemory>> made = allocate(kind, coherence);
    ASSERT_TRUE(made) << made.error().message;
    KfdMemory& memory = **made;
    ASSERT_EQ(memory.host() != nullptr, kind != MemoryKind::Vram);
    for (int round = 0; round < 2; ++round)
      for (usize i = 0; i < 2; ++i) {
        expect_read(memory, *queues()[i], *queues()[1 - i]);
        if (memory.host() != nullptr) expect_written(memory, *queues()[i]);
      }
    const u64 address = memory.address();
    EXPECT_NE(machine->kfd().devices()[0]->space.find(address), nullptr);
    made->reset();
    EXPECT_EQ(machine->kfd().devices()[0]->space.find(address), nullptr);
    device->allocator().flush();
    EXPECT_EQ(machine->kfd().buffers().count(), before);
  }
  bool is_gfx9() const { return std::string(GetParam().gpu).starts_with("gfx9"); }

  os::Mapping pages = *os::host_files().map_anonymous({.size = kBytes, .writable = true});
  std::unique_ptr<AmdDevice> device;
  Ref<Buffer> buffer;
  unsigned turn = 0;
};

TEST_P(MemoryTest, OfEveryKindCarriesBytesBothWays) {
  for (MemoryKind kind : kKinds) {
    SCOPED_TRACE(static_cast<int>(kind));
    expect_exchanged(kind, std::nullopt);
  }
}

TEST_P(MemoryTest, OfEveryCoherenceCarriesBytesBothWays) {
  for (MemoryKind kind : kKinds)
    for (Coherence coherence :
         {Coherence::Cached, Coherence::Coherent, Coherence::ExtCoherent, Coherence::Uncached}) {
      SCOPED_TRACE(
          fmt::format("kind {} coherence {}", static_cast<int>(kind), static_cast<int>(coherence)));
      if (coherence != Coherence::ExtCoherent || is_gfx9()) {
        expect_exchanged(kind, coherence);
        continue;
      }
      const usize before = machine->kfd().buffers().count();
      const Result<std::unique_ptr<KfdMemory>> refused = allocate(kind, coherence);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
      EXPECT_EQ(machine->kfd().buffers().count(), before);
    }
}

// What one flag means to one place, from the kernel's tables: gmc_v9_0_get_coherence_flags() for
// GC 9.4.3, gmc_v11_0_get_vm_pte() for the other. RW is Cached, CC Coherent, UC Uncached; NC is
// Cached.
TEST_P(MemoryTest, IsInThePageTablesAsTheKernelHasIt) {
  const auto caching = [&](MemoryKind kind, Coherence coherence) {
    const std::unique_ptr<KfdMemory> memory = *allocate(kind, coherence);
    const emu::Range* range = machine->kfd().devices()[0]->space.find(memory->address());
    const bool is_vram = kind == MemoryKind::Vram || kind == MemoryKind::VisibleVram;
    EXPECT_EQ(range->type.place, is_vram ? Place::Local : Place::Host);
    return range->type.caching;
  };
  for (MemoryKind kind : {MemoryKind::Vram, MemoryKind::VisibleVram}) {
    EXPECT_EQ(caching(kind, Coherence::Cached), Caching::Cached);
    EXPECT_EQ(caching(kind, Coherence::Coherent), is_gfx9() ? Caching::Cached : Caching::Uncached);
    EXPECT_EQ(caching(kind, Coherence::Uncached), Caching::Uncached);
    if (is_gfx9()) {
      EXPECT_EQ(caching(kind, Coherence::ExtCoherent), Caching::Coherent);
    }
  }
  for (MemoryKind kind : {MemoryKind::Host, MemoryKind::User}) {
    EXPECT_EQ(caching(kind, Coherence::Cached), is_gfx9() ? Caching::Uncached : Caching::Cached);
    EXPECT_EQ(caching(kind, Coherence::Coherent), Caching::Uncached);
    EXPECT_EQ(caching(kind, Coherence::Uncached), Caching::Uncached);
    if (is_gfx9()) {
      EXPECT_EQ(caching(kind, Coherence::ExtCoherent), Caching::Uncached);
    }
  }
}

// The kernel looks whether the pages are there and may be written; nothing is left of a refusal.
TEST_P(MemoryTest, OfTheProcessIsRefusedWhereItCannotBeWritten) {
  ASSERT_EQ(mprotect(pages.data() + 4096, 4096, PROT_READ), 0);
  const usize before = machine->kfd().buffers().count();
  const Result<std::unique_ptr<KfdMemory>> refused = allocate(MemoryKind::User, std::nullopt);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_errno, EPERM);
  EXPECT_EQ(machine->kfd().buffers().count(), before);
  ASSERT_EQ(mprotect(pages.data() + 4096, 4096, PROT_READ | PROT_WRITE), 0);
  EXPECT_TRUE(allocate(MemoryKind::User, std::nullopt));
}

INSTANTIATE_TEST_SUITE_P(Machines, MemoryTest, ::testing::ValuesIn(kOfTwoKinds), name_of_case);

}  // namespace
}  // namespace doorbell::amd
