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

Result<PinnedMemory> PinnedMemory::allocate(Files& files, u64 bytes, bool inherited) {
  // Kernels without compaction have no such file.
  if (const Result<std::string> moves = read_text(files, kCompaction); moves && *moves != "0\n")
    return fail(ErrorKind::Unsupported,
                "the kernel may move locked memory, where a device without an IOMMU would not "
                "find it: echo 0 > {}",
                kCompaction);
  const u64 page = host_page_bytes();
  bytes = (bytes + page - 1) / page * page;
  PinnedMemory memory;
  MapRequest request;
  request.size = bytes;
  request.writable = true;
  request.populate = true;
  request.locked = true;
  request.inherited = inherited;
  TRY(memory.mapping_, files.map_anonymous(request));
  TRY(const std::unique_ptr<File> map, files.open(kPageMap, Access::Read));
  std::vector<u64> entries(bytes / page);
  const std::span<u8> into(reinterpret_cast<u8*>(entries.data()), entries.size() * sizeof(u64));
  const u64 first = reinterpret_cast<u64>(memory.mapping_.data()) / page;
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
    std::vector<BusRange>& ranges = memory.ranges_;
    if (!ranges.empty() && ranges.back().address + ranges.back().bytes == address)
      ranges.back().bytes += page;
    else
      ranges.push_back({address, page});
  }
  return memory;
}

}  // namespace doorbell::os
