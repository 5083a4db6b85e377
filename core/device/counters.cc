// The numbers of all threads. Those of a thread that has ended keep what it counted; the next
// thread adds to them.
#include "core/device/counters.h"

#include <memory>
#include <mutex>
#include <vector>

namespace doorbell::core {
namespace {

struct AllNumbers {
  std::mutex mutex;  // guards what follows
  std::vector<std::unique_ptr<Counter::Numbers>> all;
  std::vector<Counter::Numbers*> unused;  // of `all`, by threads that have ended
};

// Never destroyed: threads may end after main() has.
AllNumbers& all_numbers() {
  static AllNumbers& numbers = *new AllNumbers;
  return numbers;
}

}  // namespace

struct NumbersOfThread {
  ~NumbersOfThread() {
    AllNumbers& numbers = all_numbers();
    const std::lock_guard lock(numbers.mutex);
    numbers.unused.push_back(Counter::own_);
    Counter::own_ = nullptr;
  }
};

void Counter::take_numbers() {
  AllNumbers& numbers = all_numbers();
  const std::lock_guard lock(numbers.mutex);
  if (numbers.unused.empty()) {
    numbers.all.push_back(std::make_unique<Numbers>());
    own_ = numbers.all.back().get();
  } else {
    own_ = numbers.unused.back();
    numbers.unused.pop_back();
  }
  thread_local const NumbersOfThread gives_back;
  (void)gives_back;
}

i64 Counter::load() const {
  AllNumbers& numbers = all_numbers();
  const std::lock_guard lock(numbers.mutex);
  i64 total = 0;
  for (const std::unique_ptr<Numbers>& one : numbers.all)
    total += (*one)[slot_].load(std::memory_order_relaxed);
  return total;
}

}  // namespace doorbell::core
