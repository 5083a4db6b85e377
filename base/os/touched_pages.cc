// [torvalds/linux Documentation/admin-guide/mm/pagemap.rst: 64 bits for each page, bit 63: it is
// there, 62: it is swapped out]
#include "base/os/touched_pages.h"

#include <sys/mman.h>

#include <cerrno>

#include "base/os/host.h"
#include "base/util/try.h"

namespace doorbell::os {

Result<void> forbid_huge_pages(u8* data, usize size) {
#ifdef MADV_NOHUGEPAGE
  // EINVAL: a kernel without them.
  if (madvise(data, size, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
    return fail_errno(errno, "keep huge pages from {} bytes", size);
#else
  static_cast<void>(data), static_cast<void>(size);
#endif
  return {};
}

Result<std::vector<bool>> touched_pages(const u8* data, usize size) {
  constexpr u64 kPresent = u64{1} << 63, kSwapped = u64{1} << 62;
  const u64 page = host_page_bytes();
  std::vector<u64> entries((size + page - 1) / page);
  const u64 first = reinterpret_cast<u64>(data) / page * sizeof(u64);
  TRY(const std::unique_ptr<File> map, host_files().open("/proc/self/pagemap", Access::Read));
  TRY(const usize count,
      map->read_at(first, {reinterpret_cast<u8*>(entries.data()), entries.size() * sizeof(u64)}));
  if (count != entries.size() * sizeof(u64))
    return fail(ErrorKind::Os, "/proc/self/pagemap ends behind {} bytes", count);
  std::vector<bool> touched(entries.size());
  for (usize i = 0; i < entries.size(); ++i) touched[i] = (entries[i] & (kPresent | kSwapped)) != 0;
  return touched;
}

}  // namespace doorbell::os
