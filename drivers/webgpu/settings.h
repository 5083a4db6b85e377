// The environment variables of WebGPU devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::webgpu {

struct Settings {
  std::string library;
  std::string adapter;
  bool native = true;

  static void fields(auto& settings, auto f) {
    auto& [library, adapter, native] = settings;
    f(
        Setting{
            "WEBGPU_LIBRARY",
            "The path of wgpu-native's or Dawn's library; otherwise that of the PyPI package wgpu, "
            "or what the system finds."},
        library);
    f(Setting{"WEBGPU_ADAPTER",
              "Part of the name of the adapters that WEBGPU, WEBGPU:1, ... are. One in software is "
              "only used if it is named here."},
      adapter);
    f(Setting{"WEBGPU_NATIVE",
              "0: kernels use nothing that is wgpu-native's alone: 64-bit integers and floats, and "
              "its "
              "subgroups."},
      native);
  }
};

}  // namespace doorbell::webgpu
