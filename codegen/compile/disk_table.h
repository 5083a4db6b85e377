// DiskTable: values by key in a table of a SQLite file, shared by processes and kept between them.
// What keys and values mean is left to who keeps them: compile_cache.h, opt/tuned_plans.h.
//
// It never makes its user fail: a file that cannot be opened, read or written logs a warning and is
// not used from then on; a damaged file is removed.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"

namespace doorbell::codegen {

// 128 bits, so that different keys do not collide.
struct CacheKey {
  u64 words[2];
  auto operator<=>(const CacheKey&) const = default;
};
CacheKey make_cache_key(std::string_view text);

class DiskTable {
 public:
  struct Place {
    std::string path;           // of the file; it and its folder are made at the first use
    std::string name;           // of the table
    std::string what;           // "compile cache", for warnings
    i64 max_bytes = INT64_MAX;  // beyond these the older half is deleted when the file is opened
  };
  DiskTable(os::Files& files, Place place);
  ~DiskTable();

  // Empty if the key is not there.
  std::vector<u8> find(const CacheKey& key);
  void store(const CacheKey& key, std::span<const u8> value);
  void remove(const CacheKey& key);
  // In the order in which they were stored.
  std::vector<std::pair<CacheKey, std::vector<u8>>> all();
  // False once the file is not used any more.
  bool usable();
  const std::string& path() const;

 private:
  class Database;
  Database* database();  // call with the mutex held; null: not used
  void give_up(std::string_view what, const std::string& why);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace doorbell::codegen
