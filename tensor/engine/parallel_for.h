// A loop on several threads, with the settings of the thread that begins it: for compiling.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/util/types.h"
#include "core/util/config.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

// Calls body(0 .. count-1) on up to `threads` threads, this one among them, each with this thread's
// settings. The first exception is thrown again here.
template <class Body>
void parallel_for(usize count, usize threads, const Body& body) {
  std::atomic<usize> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const core::Config& config = core::config();
  auto work = [&] {
    core::Context context(&config);
    for (usize i; (i = next.fetch_add(1)) < count;) {
      try {
        end_if_stopped();
        body(i);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
        next.store(count);  // the others would not be used
      }
    }
  };
  std::vector<std::thread> helpers;
  try {
    for (usize i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do it.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (thrown) std::rethrow_exception(thrown);
}

// As many as PARALLEL says.
inline usize compile_threads() {
  const int asked = core::config().parallel;
  if (asked > 0) return static_cast<usize>(asked);
  return std::max<usize>(1, std::thread::hardware_concurrency());
}

}  // namespace doorbell::engine
