// Kinds and names between commas.
#include "emulator/core/trace_filter.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/util/suggest.h"
#include "emulator/core/trace.h"

namespace doorbell::emu {
namespace {

const std::vector<std::string>& kinds() {
  static const auto& all =
      *new std::vector<std::string>{"check", "dispatch", "fault", "interrupt", "ioctl", "lost",
                                    "map",   "packet",   "queue", "skipped",   "slot"};
  return all;
}

std::string_view first_word(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_first_of(" ,:"));
}

bool same(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return lower(a) == lower(b);
}

}  // namespace

Result<TraceFilter> TraceFilter::parse(std::string_view text) {
  TraceFilter filter;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const usize colon = part.find(':');
    Item item{.kind = std::string(part.substr(0, colon)),
              .name = std::string(colon == part.npos ? "" : part.substr(colon + 1))};
    if (std::ranges::find(kinds(), item.kind) == kinds().end())
      return fail(ErrorKind::Invalid, "no line of a trace is of kind {:?}{}; there are {}",
                  item.kind, did_you_mean(item.kind, kinds()), fmt::join(kinds(), ", "));
    if (item.kind == "queue") {
      int queue = -1;
      const char* const end = item.name.data() + item.name.size();
      const auto [at, why] = std::from_chars(item.name.data(), end, queue);
      if (why != std::errc() || at != end || queue < 0)
        return fail(ErrorKind::Invalid, "{:?} is not the number of a queue, as in queue:0",
                    item.name);
      filter.queues_.push_back(queue);
      continue;
    }
    item.is_prefix = item.name.ends_with('*');
    if (item.is_prefix) item.name.pop_back();
    filter.items_.push_back(std::move(item));
  }
  return filter;
}

bool TraceFilter::takes(const TraceLine& line) const {
  if (line.queue >= 0 && !queues_.empty() &&
      std::ranges::find(queues_, line.queue) == queues_.end())
    return false;
  return items_.empty() || std::ranges::any_of(items_, [&](const Item& item) {
           if (item.kind != line.kind) return false;
           if (item.name.empty() && !item.is_prefix) return true;
           std::string_view name = first_word(line.text);
           if (item.is_prefix) name = name.substr(0, item.name.size());
           return std::ranges::equal(name, item.name, same);
         });
}

}  // namespace doorbell::emu
