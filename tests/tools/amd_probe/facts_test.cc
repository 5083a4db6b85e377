// The facts that steps name are in docs/hw/amd-facts.md, each once: a contradiction that the probe
// prints leads there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "tools/amd_probe/probe.h"

namespace doorbell::tools {
namespace {

// Rows and points below the heading that begin so.
int count_places(const FactPlace& place) {
  std::ifstream file(std::string(std::getenv("DOORBELL_SOURCE_ROOT")) + "/docs/hw/amd-facts.md");
  std::string line, heading;
  int found = 0;
  while (std::getline(file, line)) {
    if (line.starts_with("#")) heading = line.substr(line.find_first_not_of("# "));
    if (heading != place.heading) continue;
    for (const std::string_view mark : {"| ", "- "})
      found += line.starts_with(mark) && line.substr(2).starts_with(place.beginning);
  }
  return found;
}

TEST(Facts, StandInTheDocumentOnce) {
  for (const FactPlace& place : kFacts)
    EXPECT_EQ(count_places(place), 1) << place.heading << ": " << place.beginning;
}

TEST(Facts, WhatIsNotThereIsNotFound) {
  EXPECT_EQ(count_places({"SDMA", "the ring's pointers"}), 0) << "of another heading";
  EXPECT_EQ(count_places({"Packets of compute: PM4", "no such row"}), 0);
}

TEST(Facts, EachIsOfSomeStep) {
  std::set<Fact> named;
  for (const StepFacts& step : probe_steps()) {
    EXPECT_FALSE(step.facts.empty()) << step.name;
    named.insert(step.facts.begin(), step.facts.end());
  }
  for (usize i = 0; i < std::size(kFacts); ++i)
    EXPECT_TRUE(named.contains(static_cast<Fact>(i))) << kFacts[i].beginning;
}

TEST(Facts, LinesSayWhereTheyStand) {
  EXPECT_EQ(to_line({"clock", differs(Fact::ClockRate, "1", "2")}),
            "clock            differs          expected 1, seen 2; this contradicts "
            "docs/hw/amd-facts.md, \"Signals and events\": the GPU's clock runs at 100 MHz");
  EXPECT_EQ(to_line({"queues", not_tried("why")}), "queues           cannot be tried  why");
}

}  // namespace
}  // namespace doorbell::tools
