// The picture of a report: one row per figure over one axis of time.
#pragma once

#include <string>

#include "tools/doorbell/latency/report.h"

namespace doorbell::tools::latency {

// An SVG document.
std::string plot(const Report& report);

}  // namespace doorbell::tools::latency
