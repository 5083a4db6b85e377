// Greedy, in the order of the buffer.
#include "drivers/webgpu/windows.h"

#include <algorithm>

#include "base/util/try.h"

namespace doorbell::webgpu {
namespace {

struct Span {
  u64 begin, end;
  std::vector<usize> params;
};

// The windows of one buffer's params, which are sorted by where they begin.
Result<std::vector<Span>> spans_of(std::span<const Use> uses, std::span<const usize> sorted,
                                   const BindingLimits& limits) {
  std::vector<Span> spans;
  for (const usize param : sorted) {
    const Use& use = uses[param];
    const u64 begin = use.begin / limits.alignment * limits.alignment;
    if (use.end - begin > limits.bytes)
      return fail(ErrorKind::Unsupported,
                  "it uses {} bytes of one buffer, a binding shows at most {}", use.end - begin,
                  limits.bytes);
    if (spans.empty() || std::max(spans.back().end, use.end) - spans.back().begin > limits.bytes)
      spans.push_back({begin, use.end, {}});
    spans.back().end = std::max(spans.back().end, use.end);
    spans.back().params.push_back(param);
  }
  return spans;
}

}  // namespace

Result<Windows> place_windows(std::span<const Use> uses, const BindingLimits& limits) {
  constexpr u32 kNone = ~u32{0};
  std::vector<u32> window_of(uses.size(), kNone);
  std::vector<Window> made;
  std::vector<bool> together;
  for (usize first = 0; first < uses.size(); ++first) {
    if (window_of[first] != kNone) continue;
    const Use& memory = uses[first];
    std::vector<usize> sorted;
    bool written = false;
    for (usize i = first; i < uses.size(); ++i) {
      if (uses[i].memory != memory.memory) continue;
      sorted.push_back(i);
      written |= uses[i].written;
    }
    std::ranges::stable_sort(sorted, {}, [&](usize i) { return uses[i].begin; });
    std::vector<Span> spans;
    if (memory.memory_bytes <= limits.bytes) {
      spans.push_back({0, memory.memory_bytes, sorted});
    } else {
      TRY(spans, spans_of(uses, sorted, limits));
      // As much as there is, so that launches with other params have the same window.
      if (spans.size() == 1)
        spans[0].end = std::min(memory.memory_bytes, spans[0].begin + limits.bytes);
    }
    u64 end = 0;
    for (const Span& span : spans) {
      if (written && span.begin < end)
        return fail(ErrorKind::Unsupported,
                    "it uses parts of one buffer that overlap and span more than the {} bytes of a "
                    "binding",
                    limits.bytes);
      end = std::max(end, span.end);
      for (const usize param : span.params) window_of[param] = static_cast<u32>(made.size());
      made.push_back({span.params[0], span.begin, (span.end - span.begin + 3) / 4 * 4});
      together.push_back(written && spans.size() > 1);
    }
  }
  if (made.size() > limits.bindings)
    return fail(ErrorKind::Unsupported, "it needs {} bindings, a kernel has at most {}",
                made.size(), limits.bindings);
  // Bindings are numbered in the order of their first params.
  Windows placed;
  placed.sharing =
      hw::sharing_of(uses.size(), [&](usize i, usize j) { return window_of[i] == window_of[j]; });
  placed.windows.resize(made.size());
  for (usize i = 0; i < uses.size(); ++i) {
    const u32 binding = placed.sharing.binding[i];
    placed.windows[binding] = made[window_of[i]];
    if (together[window_of[i]]) placed.sharing.together |= 1u << binding;
  }
  return placed;
}

}  // namespace doorbell::webgpu
