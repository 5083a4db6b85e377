// Named rules of hardware and kernel (`AMD-VM-001`): each is off, a warning or an error, and counts
// its violations. A rule is an entry of a .def file, with its citation; the code that checks it
// decides how a violation affects a queue or a call.
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

// How reliably violations are detected.
enum class Power : u8 {
  None,     // not detected
  Partial,  // if it lasts until the next poll
  Full,     // always
};

// A rule. All members are literals, so that a check is a constexpr.
struct Check {
  const char* id;               // "AMD-VM-001"
  const char* rule;             // the rule, a sentence without full stop
  const char* cites;            // the kernel file and function, document and section
  Power trapped = Power::Full;  // in process: each doorbell store is trapped
  Power polled = Power::Full;   // under preload: memory is polled
  // Checking it makes the emulator several times slower: it is off unless a level is given for its
  // name or a prefix of it, whatever the general level.
  bool slow = false;
  // It stops work: an error unless a level is given for its name or a prefix of it, whatever the
  // general level.
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

  // "error", or a list "warn,AMD-VM=error,AMD-CP-003=off": a level for all, or for ids with a
  // prefix; the last match counts. Invalid for a part that is malformed or matches no rule; the
  // message names it.
  Result<void> configure(std::string_view text, std::span<const Check* const> all);
  Level level(const Check& check) const;

  // Reports a violation: counts it, keeps the report, calls the listener, unless 100 warnings of
  // the rule were told; Off does nothing. The caller acts on the returned level: at Error the queue
  // stops or the call fails, even if hardware would continue. `at_most` limits the level of
  // violations that the program does not cause.
  Level report(const Check& check, std::string message, Level at_most = Level::Error);

  // Called with each report, from the thread that found it; set it before other threads start.
  void listen(std::function<void(const Report&)> listener) { listener_ = std::move(listener); }

  u64 count(const Check& check) const;
  u64 errors() const;
  // The first 1000, in order.
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
  mutable std::mutex mutex_;  // guards the members below
  std::map<std::string, u64, std::less<>> counts_;
  std::vector<Report> reports_;
  u64 errors_ = 0;
};

std::string_view name(Level level);
// "error AMD-VM-001: message"
std::string to_string(const Report& report);

}  // namespace doorbell::emu
