// A lock that compiles share and that the exit of the process takes for good.
#include "codegen/compile/exit_gate.h"

#include <absl/container/flat_hash_set.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

#include "base/util/try.h"

namespace doorbell::codegen {
namespace {

struct Gate {
  std::shared_timed_mutex compiling;
  bool is_closed = false;  // under `compiling`
  std::mutex mutex;
  absl::flat_hash_set<std::string> known;  // keys of compilers that have run
};

Gate& gate() {
  static Gate& gate = *new Gate;  // never freed: used at the end of the process
  return gate;
}

// Runs before the destructors of statics that exist by now.
void close_at_exit(const std::string& key) {
  const std::lock_guard lock(gate().mutex);
  if (gate().known.insert(key).second) std::atexit(close_exit_gate);
}

}  // namespace

void close_exit_gate() {
  constexpr std::chrono::seconds kMax(2);  // a compiler that hangs must not keep the process
  const std::unique_lock lock(gate().compiling, kMax);
  gate().is_closed = true;
}

Result<std::vector<u8>> compile_before_exit(const Compiler& compiler, const LinearProgram& program,
                                            std::string_view source) {
  if (!compiler.runs_in_process()) return compiler.compile(program, source);
  const std::shared_lock lock(gate().compiling);
  if (gate().is_closed)
    return fail(ErrorKind::Unsupported,
                "kernel {} cannot be compiled while the process exits: its compiler's library is "
                "gone; compute it before main() returns, or use DEV=CPU:CLANG",
                program.name);
  TRY(std::vector<u8> image, compiler.compile(program, source));
  close_at_exit(compiler.key());
  return image;
}

}  // namespace doorbell::codegen
