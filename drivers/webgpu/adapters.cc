// Asks for adapters: wgpu-native lists them; the standard gives one for each wish.
#include "drivers/webgpu/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/os/host.h"

namespace doorbell::webgpu {
namespace {

std::string_view backend_name(BackendType type) {
  constexpr std::string_view kNames[] = {"?",     "Null",   "WebGPU", "D3D11",   "D3D12",
                                         "Metal", "Vulkan", "OpenGL", "OpenGLES"};
  const usize i = static_cast<usize>(type);
  return i < std::size(kNames) ? kNames[i] : kNames[0];
}

struct Answer {
  Adapter adapter{};
  bool done = false;
};

Adapter request(const Api& api, Instance instance, const AdapterOptions& options) {
  Answer answer;
  AdapterCallback callback;
  callback.callback = [](u32 status, Adapter adapter, StringView, void* to, void*) {
    *static_cast<Answer*>(to) = {status == kSuccess ? adapter : nullptr, true};
  };
  callback.first = &answer;
  api.InstanceRequestAdapter(instance, &options, callback);
  for (u32 turn = 0; !answer.done; ++turn) {
    api.InstanceProcessEvents(instance);
    if (!answer.done) os::host_clock().relax(turn);
  }
  return answer.adapter;
}

std::vector<Adapter> candidates(const Api& api, Instance instance) {
  std::vector<Adapter> found;
  if (api.InstanceEnumerateAdapters != nullptr) {
    found.resize(api.InstanceEnumerateAdapters(instance, nullptr, nullptr));
    if (!found.empty()) api.InstanceEnumerateAdapters(instance, nullptr, found.data());
    return found;
  }
  AdapterOptions wishes[3];
  wishes[0].power = PowerPreference::HighPerformance;
  wishes[1].power = PowerPreference::LowPower;
  wishes[2].fallback = 1;
  for (const AdapterOptions& wish : wishes)
    if (Adapter adapter = request(api, instance, wish)) found.push_back(adapter);
  return found;
}

DeviceInfo describe(const Api& api, Adapter adapter, const Limits& limits, BackendType* backend) {
  DeviceInfo info;
  AdapterInfo raw;
  api.AdapterGetInfo(adapter, &raw);
  *backend = raw.backend;
  info.name = raw.device.view();
  info.driver = raw.description.view();
  if (info.name.empty()) info.name = info.driver;
  info.backend = backend_name(raw.backend);
  info.library = api.library;
  info.is_software = raw.type == AdapterType::Cpu;
  api.AdapterInfoFreeMembers(raw);
  Features features;
  api.AdapterGetFeatures(adapter, &features);
  const auto has = [&](Feature feature) {
    return std::find(features.features, features.features + features.count, feature) !=
           features.features + features.count;
  };
  info.f16 = has(Feature::ShaderF16);
  info.timestamps = has(Feature::TimestampQuery);
  info.native_subgroups = has(Feature::NativeSubgroup);
  info.subgroups = info.native_subgroups || has(Feature::Subgroups);
  info.int64 = has(Feature::NativeShaderInt64);
  info.f64 = info.int64 && has(Feature::NativeShaderF64);
  api.SupportedFeaturesFreeMembers(features);
  info.storage_buffers = limits.storage_buffers();
  const auto bytes = [](u64 n) { return static_cast<i64>(std::min<u64>(n, INT64_MAX)); };
  info.buffer_bytes = bytes(limits.buffer_bytes);
  info.binding_bytes = bytes(limits.storage_binding_bytes);
  info.uniform_bytes = bytes(limits.uniform_binding_bytes);
  info.uniform_alignment = limits.uniform_alignment;
  info.storage_alignment = limits.storage_alignment;
  info.group_items = limits.group_items;
  std::copy_n(limits.group_axis, 3, info.group_axis);
  info.groups = limits.groups;
  info.local_bytes = limits.group_storage_bytes;
  return info;
}

}  // namespace

Result<std::vector<FoundAdapter>> find_adapters(const Api& api, Instance instance,
                                                const Options& options) {
  const std::string& name = options.adapter;
  std::vector<FoundAdapter> found;
  std::string others;
  for (Adapter adapter : candidates(api, instance)) {
    FoundAdapter one{Owned<Adapter>(api, adapter, &Api::AdapterRelease), {}, {}};
    api.AdapterGetLimits(adapter, &one.limits);
    BackendType backend;
    one.info = describe(api, adapter, one.limits, &backend);
    if (!options.native) {
      one.info.int64 = one.info.f64 = false;
      if (std::exchange(one.info.native_subgroups, false)) one.info.subgroups = false;
    }
    // OpenGL's lack what kernels need.
    if (backend != BackendType::Vulkan && backend != BackendType::Metal &&
        backend != BackendType::D3d12)
      continue;
    const bool again = std::any_of(found.begin(), found.end(), [&](const FoundAdapter& other) {
      return other.info.name == one.info.name && other.info.driver == one.info.driver;
    });
    // Of the same name are two devices of a kind where the library lists devices.
    if (again && api.InstanceEnumerateAdapters == nullptr) continue;
    const bool wanted = name.empty() ? !one.info.is_software
                                     : strcasestr(one.info.name.c_str(), name.c_str()) != nullptr;
    if (wanted) {
      found.push_back(std::move(one));
    } else {
      others +=
          fmt::format("{}{}{}", others.empty() ? "" : ", ", one.info.name,
                      one.info.is_software ? " (software, used if WEBGPU_ADAPTER names it)" : "");
    }
  }
  if (found.empty())
    return fail(ErrorKind::NotFound, "{} has no adapter{}{}; it found {}", api.library,
                name.empty() ? "" : " with the name ", name.empty() ? "" : name,
                others.empty() ? "none (Vulkan's loader and a driver are needed)" : others);
  std::stable_sort(found.begin(), found.end(), [](const FoundAdapter& a, const FoundAdapter& b) {
    return a.info.is_software < b.info.is_software;
  });
  return found;
}

}  // namespace doorbell::webgpu
