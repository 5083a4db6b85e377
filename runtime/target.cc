// Parsing DEV, and saying what is wrong with it.
#include "runtime/target.h"

#include <algorithm>
#include <charconv>

#include "base/util/suggest.h"
#include "base/util/try.h"
#include "runtime/device_table.h"

namespace doorbell::runtime {
namespace {

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

// The text before the first `separator`, which is removed from `text` with it; all of it where
// there is none.
std::string_view take_until(std::string_view* text, char separator) {
  const usize at = text->find(separator);
  const std::string_view head = text->substr(0, at);
  *text = at == std::string_view::npos ? std::string_view() : text->substr(at + 1);
  return head;
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Of a device, or of all devices that compute.
std::vector<NamedRenderer> renderers_for(std::string_view device) {
  if (const DeviceKind* kind = find_device(device)) return renderers_of(*kind);
  std::vector<NamedRenderer> all;
  for (const DeviceKind* kind : computing_devices()) {
    const std::vector<NamedRenderer> more = renderers_of(*kind);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Result<void> check_device(const Target& target) {
  if (target.device.empty()) return {};
  const DeviceKind* kind = find_device(target.device);
  const std::vector<std::string> names = device_names();
  if (kind == nullptr || !kind->computes())
    return fail(ErrorKind::Invalid, "unknown device {}{}; devices are {}", target.device,
                did_you_mean(target.device, names), join(names));
  if (!kind->open) return fail(ErrorKind::Unsupported, "device {} is {}", target.device, kNotBuilt);
  return {};
}

Result<void> check_iface(const Target& target) {
  if (target.iface.empty()) return {};
  const DeviceKind* kind = find_device(target.device);
  if (kind == nullptr)
    return fail(ErrorKind::Invalid, "interface {} without a device", target.iface);
  if (kind->interfaces.empty())
    return fail(ErrorKind::Invalid, "device {} has no interfaces, so {} cannot be one",
                target.device, target.iface);
  if (!has(kind->interfaces, target.iface))
    return fail(ErrorKind::Invalid, "unknown interface {} of {}{}; interfaces are {}", target.iface,
                target.device, did_you_mean(target.iface, kind->interfaces),
                join(kind->interfaces));
  return {};
}

Result<void> check_renderer(const Target& target) {
  if (target.renderer.empty()) return {};
  std::vector<std::string> names;
  for (const NamedRenderer& renderer : renderers_for(target.device)) {
    if (renderer.name == target.renderer && renderer.is_built()) return {};
    if (renderer.name == target.renderer && renderer.kind->describe != nullptr) {
      Result<std::string> state = renderer.kind->describe();
      if (!state) return fail(ErrorKind::Unsupported, "{}", state.error().message);
    }
    if (!has(names, renderer.name)) names.push_back(renderer.name);
  }
  const std::string device = target.device.empty() ? "any device" : target.device;
  if (!has(names, target.renderer)) {
    const bool number = target.renderer.find_first_not_of("0123456789") == std::string::npos;
    return fail(ErrorKind::Invalid, "unknown renderer {} of {}{}; renderers are {}",
                target.renderer, device,
                number ? "; devices are numbered in the program, not in DEV"
                       : did_you_mean(target.renderer, names),
                join(names));
  }
  return fail(ErrorKind::Unsupported, "renderer {} is {}", target.renderer, kNotBuilt);
}

Result<std::vector<int>> parse_indices(std::string_view text) {
  std::vector<int> indices;
  while (true) {
    const bool more = text.find(',') != std::string_view::npos;
    const std::string_view word = take_until(&text, ',');
    int index = -1;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (error != std::errc() || end != word.data() + word.size() || index < 0)
      return fail(ErrorKind::Invalid, "'{}' is not the number of a device", word);
    indices.push_back(index);
    if (!more) return indices;
  }
}

Result<Target> parse_target(std::string_view text) {
  Target target;
  if (text.find('+') != std::string_view::npos) {
    std::string_view iface = take_until(&text, '+');
    const bool numbered = iface.find(':') != std::string_view::npos;
    target.iface = upper(take_until(&iface, ':'));
    if (target.iface.empty())
      return fail(ErrorKind::Invalid, "'+{}' has no interface before the plus", text);
    if (numbered) {
      TRY(target.indices, parse_indices(iface));
    }
    if (text.empty())
      return fail(ErrorKind::Invalid, "interface {} without a device", target.iface);
  }
  if (text.empty()) return fail(ErrorKind::Invalid, "a target is empty");
  target.device = upper(take_until(&text, ':'));
  target.renderer = upper(take_until(&text, ':'));
  target.arch = std::string(text);
  TRY(check_device(target));
  TRY(check_iface(target));
  TRY(check_renderer(target));
  return target;
}

}  // namespace

Result<std::vector<Target>> parse_targets(std::string_view text, std::string_view source) {
  std::vector<Target> targets;
  if (text.empty()) return targets;
  while (true) {
    const bool more = text.find(';') != std::string_view::npos;
    Result<Target> target = parse_target(take_until(&text, ';'));
    if (!target) return fail(target.error().kind, "{}: {}", source, target.error().message);
    targets.push_back(std::move(*target));
    if (!more) return targets;
  }
}

const Target* target_for(const std::vector<Target>& targets, std::string_view device) {
  for (const Target& target : targets)
    if (target.device.empty() || target.device == device) return &target;
  return nullptr;
}

}  // namespace doorbell::runtime
