// [torvalds/linux Documentation/admin-guide/mm/pagemap.rst: 64 bits for each page, bit 63 says that
// it is there, 54:0 its number, 0 without the right to know it; admin-guide/sysctl/vm.rst
// compact_unevictable_allowed]
#include "base/os/pinned_memory.h"

#include "base/os/host.h"
#include "base/util/try.h"

namespace doorbell::os {
namespace {

constexpr const char* kPageMap = "/proc/self/pagemap";
constexpr const char* kCompaction = "/proc/sys/vm/compact_unevictable_allowed";
constexpr u64 kPresent = u64{1} << 63, kPageNumber = (u64{1} << 55) - 1;

}  // namespace

Result<PinnedMemory> PinnedMemory::allocate(Files& files, u64 bytes, bool inherited,
                                            VfioContainer* vfio) {
  const bool has_iommu = vfio != nullptr && vfio->has_iommu();
  const u64 page = host_page_bytes();
  PinnedMemory memory;
  MapRequest request;
  request.size = (bytes + page - 1) / page * page;
  request.writable = true;
  request.populate = !has_iommu;
  request.locked = !has_iommu;
  request.inherited = inherited;
  TRY(memory.mapping_, files.map_anonymous(request));
  if (has_iommu) {
    TRY(memory.dma_, vfio->map(memory.bytes()));
    memory.ranges_.push_back({memory.dma_.address(), request.size});
    return memory;
  }
  TRY(memory.find_on_bus(files));
  return memory;
}

Result<void> PinnedMemory::find_on_bus(Files& files) {
  // Kernels without compaction have no such file.
  if (const Result<std::string> moves = read_text(files, kCompaction); moves && *moves != "0\n")
    return fail(ErrorKind::Unsupported,
                "the kernel may move locked memory, where a device without an IOMMU would not "
                "find it: echo 0 > {}",
                kCompaction);
  const u64 page = host_page_bytes();
  TRY(const std::unique_ptr<File> map, files.open(kPageMap, Access::Read));
  std::vector<u64> entries(mapping_.size() / page);
  const std::span<u8> into(reinterpret_cast<u8*>(entries.data()), entries.size() * sizeof(u64));
  const u64 first = reinterpret_cast<u64>(mapping_.data()) / page;
  TRY(const usize count, map->read_at(first * sizeof(u64), into));
  if (count != into.size())
    return fail(ErrorKind::Os, "{} ends behind {} of {} bytes", kPageMap, count, into.size());
  for (const u64 entry : entries) {
    const u64 address = (entry & kPageNumber) * page;
    if ((entry & kPresent) == 0 || address == 0)
      return fail(ErrorKind::Permission,
                  "{} does not say where memory lies: it takes root, or the capability "
                  "CAP_SYS_ADMIN",
                  kPageMap);
    if (!ranges_.empty() && ranges_.back().address + ranges_.back().bytes == address)
      ranges_.back().bytes += page;
    else
      ranges_.push_back({address, page});
  }
  return {};
}

}  // namespace doorbell::os
