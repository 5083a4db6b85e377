// The Trace Event Format's "X" (complete) events, with "M" events that name processes and threads.
#include "hcq/trace/trace.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

namespace doorbell::hcq {
namespace {

using nlohmann::json;

json name_event(const char* what, u64 pid, u64 tid, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

// Numbers for names, from 1, in order of first use.
template <class Key>
u64 number(std::map<Key, u64>& numbers, const Key& key, bool* fresh) {
  const auto [at, inserted] = numbers.try_emplace(key, numbers.size() + 1);
  *fresh = inserted;
  return at->second;
}

}  // namespace

void Trace::add(Span span) {
  std::lock_guard lock(mutex_);
  spans_.push_back(std::move(span));
}

std::vector<Trace::Span> Trace::spans() const {
  std::lock_guard lock(mutex_);
  return spans_;
}

std::string Trace::json() const {
  std::vector<Span> spans = this->spans();
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
  const u64 start = spans.empty() ? 0 : spans.front().begin_ns;
  std::map<std::string, u64> devices;
  std::map<std::pair<std::string, std::string>, u64> queues;
  std::vector<nlohmann::json> events;
  for (const Span& span : spans) {
    bool fresh = false;
    const u64 pid = number(devices, span.device, &fresh);
    if (fresh) events.push_back(name_event("process_name", pid, 0, span.device));
    const u64 tid = number(queues, {span.device, span.queue}, &fresh);
    if (fresh) events.push_back(name_event("thread_name", pid, tid, span.queue));
    events.push_back({{"ph", "X"},
                      {"name", span.name},
                      {"cat", span.category},
                      {"pid", pid},
                      {"tid", tid},
                      {"ts", static_cast<f64>(span.begin_ns - start) / 1000},
                      {"dur", static_cast<f64>(span.end_ns - span.begin_ns) / 1000}});
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (usize i = 0; i < events.size(); ++i) text += (i == 0 ? "\n" : ",\n") + events[i].dump();
  return text + "\n]}\n";
}

}  // namespace doorbell::hcq
