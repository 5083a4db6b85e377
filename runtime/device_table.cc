// The table, and what its rows have together.
#include "runtime/device_table.h"

#include <algorithm>
#include <sstream>

#include "base/util/try.h"
#include "core/util/config.h"

namespace doorbell::runtime {

#ifdef __linux__
#define LINUX(name) DEVICE(name)
#else
#define LINUX(name)
#endif

// Each in runtime/devices/.
#define DEVICE(name) DeviceKind name##_kind();
#define NAMED(name, interfaces, renderers)
#include "runtime/devices.def"
#undef DEVICE
#undef NAMED

const SettingValues& setting_values(const core::Config& config) { return config.device_settings; }

namespace {

std::vector<std::string> words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> found;
  for (std::string word; stream >> word;) found.push_back(word);
  return found;
}

DeviceKind named_kind(const std::string& name, const std::string& interfaces,
                      const std::string& renderers) {
  DeviceKind kind{.name = name, .interfaces = words(interfaces)};
  for (const std::string& renderer : words(renderers))
    kind.renderers.push_back({.name = renderer, .make = nullptr});
  return kind;
}

std::deque<DeviceKind>& table() {
  // Never freed: devices outlive main().
  static std::deque<DeviceKind>& table = *new std::deque<DeviceKind>{
#define DEVICE(name) name##_kind(),
#define NAMED(name, interfaces, renderers) named_kind(#name, interfaces, renderers),
#include "runtime/devices.def"
#undef DEVICE
#undef LINUX
#undef NAMED
  };
  return table;
}

void add(const RendererKind& renderer, const DeviceKind& owner, const std::string& name,
         std::vector<NamedRenderer>* found) {
  const auto same = std::find_if(found->begin(), found->end(),
                                 [&](const NamedRenderer& other) { return other.name == name; });
  if (same == found->end())
    found->push_back({name, &renderer, &owner});
  else if (!same->is_built() && renderer.make != nullptr)
    *same = {name, &renderer, &owner};
}

}  // namespace

const std::deque<DeviceKind>& device_table() { return table(); }

void add_to_table(DeviceKind kind) { table().push_back(std::move(kind)); }

const DeviceKind* find_device(std::string_view name) {
  for (const DeviceKind& kind : table())
    if (kind.name == name) return &kind;
  return nullptr;
}

std::vector<const DeviceKind*> computing_devices() {
  std::vector<const DeviceKind*> kinds;
  for (const DeviceKind& kind : table())
    if (kind.computes()) kinds.push_back(&kind);
  return kinds;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceKind* kind : computing_devices()) names.push_back(kind->name);
  return names;
}

std::vector<DeclaredSetting> device_settings() {
  std::vector<DeclaredSetting> all;
  for (const DeviceKind& kind : table())
    all.insert(all.end(), kind.settings.begin(), kind.settings.end());
  return all;
}

Result<void> check_device_settings(const SettingValues& values) {
  const std::vector<DeclaredSetting> settings = device_settings();
  for (const auto& [name, value] : values) {
    const auto known = std::find_if(
        settings.begin(), settings.end(),
        [&name = name](const DeclaredSetting& declared) { return name == declared.setting.name; });
    if (known == settings.end())
      return fail(ErrorKind::Invalid, "no device has a setting {}", name);
    if (!value.empty()) TRY(known->check(known->setting, value));
  }
  return {};
}

std::vector<NamedRenderer> renderers_of(const DeviceKind& device) {
  std::vector<NamedRenderer> found;
  for (const RendererKind& renderer : device.renderers)
    add(renderer, device, renderer.name, &found);
  if (!device.has_all_renderers) return found;
  for (const DeviceKind& owner : table())
    for (const RendererKind& renderer : owner.renderers)
      add(renderer, owner, renderer.name_for_null(), &found);
  return found;
}

}  // namespace doorbell::runtime
