// Progress of work that may take long: compiling kernels, copies. The code that does such work
// reports its progress; the code that displays it installs an observer. For the bar on a terminal
// see runtime/progress_bar.h.
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
  std::string_view what;  // "compiling kernels": of static lifetime
  i64 done = 0, total = 0;
  Unit unit = Unit::Pieces;
};

// Called from the thread that works; must not throw, nor use tensors.
class ProgressObserver {
 public:
  virtual ~ProgressObserver() = default;
  // Called for work that has taken a second, at most ten times a second.
  virtual void tell(const Progress& progress) = 0;
  // Called when work that was reported has ended or failed.
  virtual void end() = 0;
};

// One per process; null: none. It is borrowed, and must outlive all work that began while it was
// set. Work that takes no longer than `quiet_ns` is not reported.
void set_progress_observer(ProgressObserver* observer, i64 quiet_ns = 1'000'000'000);

// Reports one piece of work while it lives. Each step reads the clock once.
class LongWork {
 public:
  LongWork(std::string_view what, i64 total, Progress::Unit unit = Progress::Unit::Pieces);
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  // Call after `steps` more steps are done, from any thread.
  void advance(i64 steps = 1);

 private:
  ProgressObserver* const observer_;  // borrowed; null: none
  const Progress work_;
  std::atomic<i64> done_{0}, tell_at_ns_{0};
  std::atomic<bool> told_{false};
};

}  // namespace doorbell
