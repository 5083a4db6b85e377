// One figure: its samples, or the reason why they could not be taken. For the groups' .cc files.
#pragma once

#include <utility>

#include "base/util/error.h"
#include "tools/doorbell/latency/series.h"

namespace doorbell::tools::latency {

template <class Measure>
Series measured(const Request& request, Series series, const Measure& measure) {
  try {
    series.time = measure();
  } catch (const Error& error) {
    series.unavailable = unavailable_on(request.device, error.message);
  }
  return series;
}

inline Series unmeasured(const Request& request, Series series, const std::string& why) {
  series.unavailable = unavailable_on(request.device, why);
  return series;
}

}  // namespace doorbell::tools::latency
