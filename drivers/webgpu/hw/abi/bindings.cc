// The texts of declarations, and of headers.
#include "drivers/webgpu/hw/abi/bindings.h"

#include <fmt/format.h>

#include <charconv>

namespace doorbell::webgpu::hw {
namespace {

constexpr std::string_view kParams = "// params", kVariables = ", variables ";

bool take(std::string_view* text, std::string_view prefix) {
  if (!text->starts_with(prefix)) return false;
  text->remove_prefix(prefix.size());
  return true;
}

template <class T>
bool take_number(std::string_view* text, T* number) {
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (error != std::errc()) return false;
  text->remove_prefix(static_cast<usize>(end - text->data()));
  return true;
}

// Functions over whole words.
std::string word_functions(usize slot, const KernelParam& param, u32 binding, bool atomic,
                           std::string_view offset) {
  const auto read = [&](std::string_view at) {
    return atomic ? fmt::format("atomicLoad(&b{}[{}])", binding, at)
                  : fmt::format("b{}[{}]", binding, at);
  };
  const auto write = [&](std::string_view at, std::string_view value) {
    return atomic ? fmt::format("atomicStore(&b{}[{}], {});", binding, at, value)
                  : fmt::format("b{}[{}] = {};", binding, at, value);
  };
  std::string text;
  if (param.bytes == 4) {
    const std::string at = fmt::format("i + {}", offset);
    text = fmt::format("fn load{}(i: u32) -> u32 {{ return {}; }}\n", slot, read(at));
    if (param.written)
      text += fmt::format("fn store{}(i: u32, v: u32) {{ {} }}\n", slot, write(at, "v"));
    return text;
  }
  text =
      fmt::format("fn load{}(i: u32) -> vec2u {{ let w = 2u * i + {}; return vec2u({}, {}); }}\n",
                  slot, offset, read("w"), read("w + 1u"));
  if (param.written)
    text += fmt::format("fn store{}(i: u32, v: vec2u) {{ let w = 2u * i + {}; {} {} }}\n", slot,
                        offset, write("w", "v.x"), write("w + 1u", "v.y"));
  return text;
}

}  // namespace

std::string argument(u32 word) { return fmt::format("args[{}].{}", word / 4, "xyzw"[word % 4]); }

std::string header(const KernelAbi& abi) {
  std::string text(kParams);
  for (const KernelParam& param : abi.params)
    text += fmt::format(" {}{}x{}", param.bytes, param.written ? "w" : "", param.count);
  return fmt::format("{}{}{}\n", text, kVariables, abi.variables);
}

bool parse_header(std::string_view source, KernelAbi* abi) {
  *abi = {};
  if (!take(&source, kParams)) return false;
  while (take(&source, " ")) {
    KernelParam& param = abi->params.emplace_back();
    if (!take_number(&source, &param.bytes)) return false;
    if (param.bytes != 1 && param.bytes != 2 && param.bytes != 4 && param.bytes != 8) return false;
    param.written = take(&source, "w");
    if (!take(&source, "x") || !take_number(&source, &param.count)) return false;
  }
  return take(&source, kVariables) && take_number(&source, &abi->variables) && take(&source, "\n");
}

Sharing nothing_shared(usize params) {
  return sharing_of(params, [](usize, usize) { return false; });
}

bool is_written(const KernelAbi& abi, const Sharing& sharing, u32 binding) {
  for (usize i = 0; i < sharing.binding.size(); ++i)
    if (sharing.binding[i] == binding && abi.params[i].written) return true;
  return (sharing.together >> binding & 1) != 0;
}

std::string bindings(const KernelAbi& abi, const Sharing& sharing) {
  std::string text =
      fmt::format("@group(0) @binding(0) var<uniform> args: array<vec4u, {}>;\n", abi.words() / 4);
  std::vector<bool> atomic(bindings_of(sharing), false);
  const std::vector<u32>& binding = sharing.binding;
  for (usize i = 0; i < binding.size(); ++i)
    if (abi.params[i].written && abi.params[i].is_packed()) atomic[binding[i]] = true;
  for (u32 g = 0; g < atomic.size(); ++g)
    text += fmt::format("@group(0) @binding({}) var<storage, {}> b{}: array<{}>;\n", g + 1,
                        is_written(abi, sharing, g) ? "read_write" : "read", g,
                        atomic[g] ? "atomic<u32>" : "u32");
  for (usize i = 0; i < binding.size(); ++i) {
    const KernelParam& param = abi.params[i];
    const std::string offset = argument(abi.offset_word(i));
    if (!param.is_packed()) {
      text += word_functions(i, param, binding[i], atomic[binding[i]], offset);
      continue;
    }
    const std::string name = std::to_string(i), array = fmt::format("b{}", binding[i]);
    text += packed_load(name, array, param.bytes, offset, atomic[binding[i]]);
    if (param.written) text += packed_store(name, array, param.bytes, offset);
  }
  return text;
}

std::string shared_source(std::string_view source, const KernelAbi& abi, const Sharing& sharing) {
  const usize declared = source.find(kBindings) + kBindings.size();
  return std::string(source.substr(0, declared)) + bindings(abi, sharing) +
         std::string(source.substr(source.find(kKernel)));
}

std::string packed_load(std::string_view name, std::string_view array, u32 bytes,
                        std::string_view offset, bool atomic) {
  const u32 each = 4 / bytes, shift = bytes == 1 ? 2 : 1;
  const std::string at = fmt::format("{}[e >> {}u]", array, shift);
  return fmt::format(
      "fn load{}(i: u32) -> u32 {{\n  let e = i + {};\n"
      "  return ({} >> ((e & {}u) * {}u)) & {:#x}u;\n}}\n",
      name, offset, atomic ? fmt::format("atomicLoad(&{})", at) : at, each - 1, 8 * bytes,
      bytes == 1 ? 0xff : 0xffff);
}

std::string packed_store(std::string_view name, std::string_view array, u32 bytes,
                         std::string_view offset) {
  const u32 each = 4 / bytes, shift = bytes == 1 ? 2 : 1;
  // Nobody else changes these bits, so flipping those that differ sets them.
  return fmt::format(
      "fn store{0}(i: u32, v: u32) {{\n  let e = i + {1}; let s = (e & {2}u) * {3}u;\n"
      "  let before = atomicLoad(&{4}[e >> {5}u]) >> s;\n"
      "  atomicXor(&{4}[e >> {5}u], ((before ^ v) & {6:#x}u) << s);\n}}\n",
      name, offset, each - 1, 8 * bytes, array, shift, bytes == 1 ? 0xff : 0xffff);
}

}  // namespace doorbell::webgpu::hw
