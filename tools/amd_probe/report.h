// What a step of the probe found, and a line for it. What the steps are is for probe.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/util/result.h"
#include "tools/amd_probe/facts.h"

namespace doorbell::tools {

enum class Verdict : u8 { Ok, Differs, NotTried };

// The GPU is not as a fact says.
struct Difference {
  Fact fact;
  std::string expected, seen;
};

struct Outcome {
  Verdict verdict = Verdict::Ok;
  std::string text;  // what was seen, or why nothing was tried
  std::optional<Difference> difference;
};

inline Outcome ok(std::string text) { return {Verdict::Ok, std::move(text), {}}; }
inline Outcome not_tried(std::string why) { return {Verdict::NotTried, std::move(why), {}}; }
inline Outcome differs(Fact fact, std::string expected, std::string seen) {
  return {Verdict::Differs, {}, Difference{fact, std::move(expected), std::move(seen)}};
}
inline bool is_ok(const Outcome& outcome) { return outcome.verdict == Verdict::Ok; }

struct StepReport {
  std::string name;
  Outcome outcome;
  std::span<const Fact> facts = {};  // that it tests, static
  // The packets that it gave to bare queues and what it saw of them, which is the same in each run.
  std::vector<std::string> trace = {};
};

// "copies     ok             48 copies of 1 to 4194304 bytes"
std::string to_line(const StepReport& step);
nlohmann::json to_json(std::span<const StepReport> steps);
// How the steps differ from those of another run, which to_json() wrote: a line for each step that
// went otherwise, with the facts of which one is wrong. Steps that one of them could not try are
// left out. Throws where it is not JSON of steps.
std::vector<std::string> compare(const nlohmann::json& recorded, std::span<const StepReport> steps);
// Whether none differs.
bool all_as_expected(std::span<const StepReport> steps);

}  // namespace doorbell::tools
