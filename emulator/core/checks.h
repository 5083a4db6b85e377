// Named rules of hardware and kernel (`AMD-VM-001`): each is off, a warning or an error, and counts
// how often it was broken. A rule is an entry of a .def file, with its citation; the code that
// judges it decides what a violation does to a queue or a call.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

enum class Level : u8 { Off, Warn, Error };

// How surely a door sees the rule broken.
enum class Power : u8 {
  None,     // this door does not show it
  Partial,  // when it lasts until the next look
  Full,     // always
};

// A rule. All members are literals, so that a check is a constexpr.
struct Check {
  const char* id;               // "AMD-VM-001"
  const char* rule;             // what must hold, a sentence without full stop
  const char* cites;            // the kernel file and function, document and section
  Power trapped = Power::Full;  // in process: each doorbell store is seen
  Power polled = Power::Full;   // under preload: memory is looked at now and then
  // Judging it makes the emulator several times slower: it is off unless a level is given for its
  // name or the start of it, whatever the level of all.
  bool slow = false;
  // What ends work rather than judges it: an error unless a level is given for its name or the
  // start of it, whatever the level of all.
  bool always = false;
};

struct Report {
  const Check* check;
  Level level;
  std::string message;  // lower case, with both values
};

// Thread safety: from any thread.
class Checks {
 public:
  explicit Checks(Level standard = Level::Warn) : standard_(standard) {}

  // "error", or a list "warn,AMD-VM=error,AMD-CP-003=off": a level for all, or for the ids that
  // start so; the last that fits counts. Invalid names the part that is not understood, or fits
  // none of the rules that there are.
  Result<void> configure(std::string_view text, std::span<const Check* const> all);
  Level level(const Check& check) const;

  // The rule is broken. Counts, keeps the report, tells the listener; Off does nothing. The caller
  // acts on what comes back: at Error the queue stops or the call fails, even where hardware would
  // go on. `at_most` limits what is no fault of the program.
  Level report(const Check& check, std::string message, Level at_most = Level::Error);

  // Called with each report, from the thread that found it; set before there are other threads.
  void listen(std::function<void(const Report&)> listener) { listener_ = std::move(listener); }

  u64 count(const Check& check) const;
  u64 errors() const;
  // The first 1000, in the order they came.
  std::vector<Report> reports() const;
  void clear();

 private:
  struct Rule {
    std::string prefix;
    Level level;
  };

  Level standard_;
  std::vector<Rule> rules_;
  std::function<void(const Report&)> listener_;
  mutable std::mutex mutex_;  // the rest
  std::map<std::string, u64, std::less<>> counts_;
  std::vector<Report> reports_;
  u64 errors_ = 0;
};

std::string_view name(Level level);
// "error AMD-VM-001: message"
std::string to_string(const Report& report);

}  // namespace doorbell::emu
