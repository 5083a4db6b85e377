// CompileCache: compiled kernels on disk, shared by processes and kept between them. For entries
// see kernel_binary.h, for keys kernel_key.h.
//
// It never makes a compile fail (DiskTable); a bad entry is logged, deleted, reported as absent.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <optional>
#include <string>

#include "codegen/compile/disk_table.h"
#include "codegen/compile/kernel_binary.h"

namespace doorbell::codegen {

class CompileCache {
 public:
  // A database file; it and its folder are made at the first use. Beyond `max_bytes` the oldest
  // entries are deleted when the cache is opened.
  CompileCache(os::Files& files, std::string path, i64 max_bytes = i64{256} << 20);

  std::optional<KernelBinary> find(const CacheKey& key);
  void store(const CacheKey& key, const KernelBinary& kernel);
  // False once the cache is disabled.
  bool usable() { return table_.usable(); }

 private:
  DiskTable table_;
};

}  // namespace doorbell::codegen
