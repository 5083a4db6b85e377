// One page, with nothing beside it, that shows tensor graphs, their schedules and their kernels
// with plan, source and time: graph_page.html around the JSON of a GraphLog.
#pragma once

#include <span>
#include <string>

#include "hcq/trace/trace.h"
#include "tensor/engine/graph_log.h"

namespace doorbell::detail {

// `spans` of category "kernel" are the kernels' launches and times.
std::string graph_page(const engine::GraphLog& log, std::span<const hcq::Trace::Span> spans);

// The bytes of graph_page.html; generated (embed_page.py).
std::string_view graph_page_template();

}  // namespace doorbell::detail
