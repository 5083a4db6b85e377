// CompileCache: compiled kernels on disk, shared by processes and kept between them. For entries
// see kernel_binary.h, for keys kernel_key.h.
//
// It never makes a compile fail: a cache that cannot be opened, read or written logs a warning and
// is disabled from then on; a bad entry is logged, deleted, and reported as absent.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/os/files.h"
#include "codegen/compile/kernel_binary.h"

namespace doorbell::codegen {

// 128 bits, so that keys of different kernels do not collide.
struct CacheKey {
  u64 words[2];
};
CacheKey make_cache_key(std::string_view text);

class CompileCache {
 public:
  // A database file; it and its folder are made at the first use. Beyond `max_bytes` the oldest
  // entries are deleted when the cache is opened.
  CompileCache(os::Files& files, std::string path, i64 max_bytes = i64{256} << 20);
  ~CompileCache();

  std::optional<KernelBinary> find(const CacheKey& key);
  void store(const CacheKey& key, const KernelBinary& kernel);
  // False once the cache is disabled.
  bool usable();

 private:
  class Database;
  Database* database();  // call with the mutex held; null: disabled
  void give_up(std::string_view what, const std::string& why);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doorbell::codegen
