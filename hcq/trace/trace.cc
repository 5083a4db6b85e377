// The Trace Event Format's "X" (complete) events, with "M" events that name processes and threads.
#include "hcq/trace/trace.h"

#include <algorithm>
#include <atomic>
#include <map>

#include <nlohmann/json.hpp>

#include "base/os/host.h"

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

constinit std::atomic<Trace*> process_trace{nullptr};

// "thread 1" is the first that added a span.
std::string this_thread_name() {
  static constinit std::atomic<u32> last{0};
  thread_local const u32 number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return "thread " + std::to_string(number);
}

}  // namespace

Trace* Trace::of_process() { return process_trace.load(std::memory_order_acquire); }

void Trace::set_of_process(Trace* trace) { process_trace.store(trace, std::memory_order_release); }

void Trace::add(Span span) {
  std::lock_guard lock(spans_mutex_);
  spans_.push_back(std::move(span));
}

void Trace::add_source(std::shared_ptr<Source> source) {
  collect();
  std::lock_guard lock(sources_mutex_);
  sources_.push_back(std::move(source));
}

void Trace::collect() {
  std::lock_guard lock(sources_mutex_);
  std::erase_if(sources_, [&](const std::shared_ptr<Source>& source) {
    const bool is_ours = source.use_count() == 1;
    return source->collect(*this) && is_ours;
  });
}

std::vector<Trace::Span> Trace::spans() {
  collect();
  std::lock_guard lock(spans_mutex_);
  return spans_;
}

std::string Trace::json() {
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

HostSpan::HostSpan(std::string_view name, std::string_view category) : trace_(Trace::of_process()) {
  if (trace_ == nullptr) return;
  name_ = name;
  category_ = category;
  begin_ns_ = os::host_clock().now_ns();
}

HostSpan::~HostSpan() {
  if (trace_ == nullptr) return;
  trace_->add({"host", this_thread_name(), std::move(name_), std::move(category_), begin_ns_,
               os::host_clock().now_ns()});
}

}  // namespace doorbell::hcq
