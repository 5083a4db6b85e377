// Progress of work that may take long: compiling kernels, copies. Whoever does such work says how
// far it is; whoever shows it to people installs an observer. The library itself draws nothing: the
// bar on a terminal is runtime/progress_bar.h's.
//
//   struct Printer : doorbell::ProgressObserver {
//     void tell(const doorbell::Progress& p) override { std::cerr << p.done << "/" << p.total; }
//     void end() override { std::cerr << "\n"; }
//   };
//   doorbell::set_progress_observer(new Printer);
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <string_view>

#include "base/util/types.h"

namespace doorbell {

struct Progress {
  enum class Unit : u8 { Pieces, Bytes };
  std::string_view what;  // "compiling kernels": lives as long as the program
  i64 done = 0, total = 0;
  Unit unit = Unit::Pieces;
};

// Told from whichever thread works; must not throw, nor use tensors.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  // Of work that has taken a second, ten times a second at most.
  virtual void tell(const Progress& progress) = 0;
  // Some work that was told of has ended or failed.
  virtual void end() = 0;
};

// The process's; null: nobody asks. It is borrowed, for as long as work that began before may last.
// Work that takes no longer than `quiet_ns` is not told.
void set_progress_observer(ProgressObserver* observer, i64 quiet_ns = 1'000'000'000);

// One piece of work, while it lives. It costs a look at the clock for each step.
class LongWork {
 public:
  LongWork(std::string_view what, i64 total, Progress::Unit unit = Progress::Unit::Pieces);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  // So many steps more are done. From any thread.
  void advance(i64 steps = 1);

 private:
  ProgressObserver* const observer_;  // borrowed; null: nobody asks
  const Progress work_;
  std::atomic<i64> done_{0}, tell_at_ns_{0};
  std::atomic<bool> told_{false};
};

}  // namespace doorbell
