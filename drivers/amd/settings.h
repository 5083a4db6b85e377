// The environment variables of AMD devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::amd {

struct Settings {
  std::optional<bool> aql;
  bool disable_sdma = false;
  bool report_waves = false;

  static void fields(auto& settings, auto f) {
    auto& [aql, disable_sdma, report_waves] = settings;
    f(Setting{"AMD_AQL", "1: compute queues of AQL packets, 0: of PM4; otherwise by chip."}, aql);
    f(Setting{"AMD_DISABLE_SDMA", "1: no copy engine; buffers lie in the host's memory."},
      disable_sdma);
    f(
        Setting{
            "AMD_REPORT_WAVES",
            "1: the report of a hang says where the queue's waves stand. The kernel may reset the "
            "whole GPU for it."},
        report_waves);
  }
};

}  // namespace doorbell::amd
