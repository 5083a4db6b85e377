// The names of the values that fields of PM4 packets take. An empty name is a value without a name.
#include <span>

#include "drivers/amd/hw/pm4/memory.h"
#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/hw/pm4/sync.h"

namespace doorbell::amd::hw {

namespace {

template <class E>
std::string_view in_table(std::span<const std::string_view> names, E value) {
  const auto index = static_cast<usize>(value);
  return index < names.size() ? names[index] : std::string_view();
}

}  // namespace

std::string_view name_of(CachePolicy policy) {
  static constexpr std::string_view kNames[] = {"Lru", "Stream", "Noa", "Bypass"};
  return in_table<CachePolicy>(kNames, policy);
}

std::string_view name_of(Compare compare) {
  static constexpr std::string_view kNames[] = {"Always",   "Less",         "LessEqual", "Equal",
                                                "NotEqual", "GreaterEqual", "Greater"};
  return in_table<Compare>(kNames, compare);
}

std::string_view name_of(WaitSpace space) {
  static constexpr std::string_view kNames[] = {"Register", "Memory"};
  return in_table<WaitSpace>(kNames, space);
}

std::string_view name_of(WaitOperation operation) {
  static constexpr std::string_view kNames[] = {"Wait", "WriteWaitWrite", "", "WaitPreemptable"};
  return in_table<WaitOperation>(kNames, operation);
}

std::string_view name_of(CopySource source) {
  static constexpr std::string_view kNames[] = {
      "Register",      "Memory",           "Tcl2",
      "Gds",           "PerfCounters",     "Immediate",
      "AtomicReturn",  "GdsAtomicReturn0", "GdsAtomicReturn1",
      "GpuClockCount", "SystemClockCount"};
  return in_table<CopySource>(kNames, source);
}

std::string_view name_of(CopyTarget target) {
  static constexpr std::string_view kNames[] = {"Register",     "",       "Tcl2",      "Gds",
                                                "PerfCounters", "Memory", "RegisterDc"};
  return in_table<CopyTarget>(kNames, target);
}

std::string_view name_of(DmaSource source) {
  static constexpr std::string_view kNames[] = {"Memory", "Gds", "Data", "L2"};
  return in_table<DmaSource>(kNames, source);
}

std::string_view name_of(DmaTarget target) {
  static constexpr std::string_view kNames[] = {"Memory", "Gds", "Nowhere", "L2"};
  return in_table<DmaTarget>(kNames, target);
}

std::string_view name_of(WriteTarget target) {
  static constexpr std::string_view kNames[] = {"Register", "MemorySync", "Tcl2",       "Gds",
                                                "",         "Memory",     "RegisterAdc"};
  return in_table<WriteTarget>(kNames, target);
}

std::string_view name_of(Event event) {
  switch (event) {
    case Event::CacheFlushTs: return "CacheFlushTs";
    case Event::CsPartialFlush: return "CsPartialFlush";
    case Event::CacheFlushAndInvTs: return "CacheFlushAndInvTs";
    case Event::CacheFlushAndInv: return "CacheFlushAndInv";
    case Event::PerfCounterStart: return "PerfCounterStart";
    case Event::PerfCounterStop: return "PerfCounterStop";
    case Event::PerfCounterSample: return "PerfCounterSample";
    case Event::BottomOfPipeTs: return "BottomOfPipeTs";
    case Event::CsDone: return "CsDone";
    case Event::ThreadTraceStart: return "ThreadTraceStart";
    case Event::ThreadTraceStop: return "ThreadTraceStop";
    case Event::ThreadTraceMarker: return "ThreadTraceMarker";
    case Event::ThreadTraceFinish: return "ThreadTraceFinish";
  }
  return {};
}

std::string_view name_of(EventIndex index) {
  static constexpr std::string_view kNames[] = {
      "Other",        "ZpassDone", "SamplePipelineStat", "SampleStreamoutStat",
      "PartialFlush", "EndOfPipe", "ShaderDone"};
  return in_table<EventIndex>(kNames, index);
}

std::string_view name_of(GcrSequence sequence) {
  static constexpr std::string_view kNames[] = {"Parallel", "Forward", "Reverse"};
  return in_table<GcrSequence>(kNames, sequence);
}

std::string_view name_of(ReleaseTarget target) {
  static constexpr std::string_view kNames[] = {"MemoryController", "Tcl2", "QueueWritePointer",
                                                "QueueWritePointerPoll"};
  return in_table<ReleaseTarget>(kNames, target);
}

std::string_view name_of(ReleaseInterrupt interrupt) {
  static constexpr std::string_view kNames[] = {
      "None",          "Only",      "AfterWriteConfirm", "DataAfterWriteConfirm",
      "Unconditional", "IfEqual32", "IfEqual64"};
  return in_table<ReleaseInterrupt>(kNames, interrupt);
}

std::string_view name_of(ReleaseData data) {
  static constexpr std::string_view kNames[] = {
      "None", "Low32", "Data64", "GpuClockCounter", "CpPerfCounter", "GdsData"};
  return in_table<ReleaseData>(kNames, data);
}

}  // namespace doorbell::amd::hw
