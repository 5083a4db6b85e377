// Entries of the table as kernels.
#include "codegen/compile/compile_cache.h"

#include "base/util/log.h"

namespace doorbell::codegen {

CompileCache::CompileCache(os::Files& files, std::string path, i64 max_bytes)
    : table_(files, {std::move(path), "kernels", "compile cache", max_bytes}) {}

std::optional<KernelBinary> CompileCache::find(const CacheKey& key) {
  const std::vector<u8> entry = table_.find(key);
  if (entry.empty()) return std::nullopt;
  auto kernel = decode(entry);
  if (kernel) return std::move(*kernel);
  log().warn("compile cache {}: entry {:016x}{:016x} is bad: {}; compiling anew", table_.path(),
             key.words[0], key.words[1], kernel.error().message);
  table_.remove(key);
  return std::nullopt;
}

void CompileCache::store(const CacheKey& key, const KernelBinary& kernel) {
  table_.store(key, encode(kernel));
}

}  // namespace doorbell::codegen
