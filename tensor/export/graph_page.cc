// The log's JSON with the times of its kernels, in the page.
#include "tensor/export/graph_page.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/util/check.h"

namespace doorbell::detail {
namespace {

using nlohmann::json;

struct Time {
  i64 count = 0;
  f64 total_us = 0;
};

// JSON inside a script element ends at "</script", wherever that stands.
std::string escaped(std::string text) {
  for (usize at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
    text.replace(at, 2, "<\\/");
  return text;
}

}  // namespace

std::string graph_page(const engine::GraphLog& log, std::span<const hcq::Trace::Span> spans) {
  std::map<std::pair<std::string, std::string>, Time> times;
  for (const hcq::Trace::Span& span : spans) {
    if (span.category != "kernel") continue;
    Time& time = times[{span.device, span.name}];
    time.count += 1;
    time.total_us += static_cast<f64>(span.end_ns - span.begin_ns) / 1e3;
  }
  json data = log.json();
  for (json& kernel : data["kernels"]) {
    const auto found =
        times.find({kernel["device"].get<std::string>(), kernel["name"].get<std::string>()});
    if (found == times.end()) continue;
    kernel["count"] = found->second.count;
    kernel["total_us"] = found->second.total_us;
  }
  constexpr std::string_view kMark = "@DATA@";
  std::string page(graph_page_template());
  const usize at = page.find(kMark);
  CHECK(at != std::string::npos, "the page has no {}", kMark);
  // Bytes that are no UTF-8 can only be names of files in a kernel's source.
  const std::string text = data.dump(-1, ' ', false, json::error_handler_t::replace);
  page.replace(at, kMark.size(), escaped(text));
  return page;
}

}  // namespace doorbell::detail
