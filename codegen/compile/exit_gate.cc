// A count of compiles under way, for which the exit of the process waits.
#include "codegen/compile/exit_gate.h"

#include <absl/container/flat_hash_set.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/util/try.h"

namespace doorbell::codegen {
namespace {

struct Gate {
  std::mutex mutex;  // guards what follows
  std::condition_variable idle;
  int compiling = 0;
  bool is_closed = false;
  absl::flat_hash_set<std::string> known;  // keys of compilers that have run
};

Gate& gate() {
  static Gate& gate = *new Gate;  // never freed: used at the end of the process
  return gate;
}

// One compile, if the gate was open.
class Passage {
 public:
  Passage() {
    const std::lock_guard lock(gate().mutex);
    is_open_ = !gate().is_closed;
    if (is_open_) ++gate().compiling;
  }
  ~Passage() {
    if (!is_open_) return;
    const std::lock_guard lock(gate().mutex);
    if (--gate().compiling == 0) gate().idle.notify_all();
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;
  bool is_open() const { return is_open_; }

 private:
  bool is_open_;
};

// Runs before the destructors of statics that exist by now.
void close_at_exit(const std::string& key) {
  const std::lock_guard lock(gate().mutex);
  if (gate().known.insert(key).second) std::atexit(close_exit_gate);
}

}  // namespace

void close_exit_gate() {
  constexpr std::chrono::seconds kMax(2);  // a compiler that hangs must not keep the process
  std::unique_lock lock(gate().mutex);
  gate().is_closed = true;
  gate().idle.wait_for(lock, kMax, [] { return gate().compiling == 0; });
}

Result<std::vector<u8>> compile_before_exit(const Compiler& compiler, const LinearProgram& program,
                                            std::string_view source) {
  if (!compiler.runs_in_process()) return compiler.compile(program, source);
  const Passage passage;
  if (!passage.is_open())
    return fail(ErrorKind::Unsupported,
                "kernel {} cannot be compiled while the process exits: its compiler's library is "
                "gone; compute it before main() returns, or use DEV=CPU:CLANG",
                program.name);
  TRY(std::vector<u8> image, compiler.compile(program, source));
  close_at_exit(compiler.key());
  return image;
}

}  // namespace doorbell::codegen
