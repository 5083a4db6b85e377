// The program of wgsl_module.js: every memory, pipeline and step that a run takes, numbered.
#include "tensor/export/wgsl_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "codegen/render/wgsl_launch.h"
#include "tensor/io/safetensors_header.h"

namespace doorbell::detail {
namespace {

using engine::ExecutionPlan;
using nlohmann::json;
using Value = ExportedFunction::Value;

// Of every adapter, of a binding's offset and of a uniform [WebGPU 3.6.2 "Limits"].
constexpr i64 kAlignment = 256;

i64 whole_words(i64 bytes) { return std::max<i64>(4, (bytes + 3) / 4 * 4); }

class Module {
 public:
  Module(const ExportedFunction& function, const std::string& name,
         const std::vector<WgslKernel>& kernels, const ExportLayout& layout)
      : f_(function),
        work_(*function.plan->work),
        kernels_(kernels),
        layout_(layout),
        program_({{"name", name},
                  {"arguments", json::array()},
                  {"variables", function.variables},
                  {"results", json::array()},
                  {"memory", json::array()},
                  {"pipelines", json::array()},
                  {"steps", json::array()},
                  {"writes", json::array()}}) {}

  json program() {
    for (u32 i = 0; i < f_.arguments.size(); ++i)
      program_["arguments"].push_back(value(f_.arguments[i], memory({Kind::Argument, i})));
    for (usize i = 0; i < work_.items.size(); ++i) {
      if (kernels_[i].source.empty()) {
        copy(work_.items[i]);
      } else {
        launch(work_.items[i], kernels_[i]);
      }
    }
    for (const ExportedFunction::Write& write : f_.writes) {
      const ExportMemory from = layout_.memory_of_result(write.result);
      if (from.kind == Kind::None) continue;
      const ExportMemory to = layout_.memory_of(write.target);
      const i64 bytes = whole_words(layout_.result_bytes(write.result));
      program_["writes"].push_back({{"to", memory(to)}, {"from", memory(from)}, {"bytes", bytes}});
    }
    for (const ExportedFunction::Output& output : f_.outputs) {
      const ExportMemory from = layout_.memory_of_result(output.result);
      program_["results"].push_back(
          value(output.value, from.kind == Kind::None ? -1 : memory(from)));
    }
    program_["limits"] = {{"maxStorageBuffersPerShaderStage", most_bindings_},
                          {"maxStorageBufferBindingSize", most_bound_},
                          {"maxBufferSize", most_bytes_}};
    return std::move(program_);
  }

 private:
  using Kind = ExportMemory::Kind;

  static json value(const Value& value, i64 memory) {
    return {{"name", value.name},          {"dtype", core::long_name_of(value.dtype.scalar)},
            {"shape", value.shape},        {"bytes", value.bytes()},
            {"written", value.is_written}, {"memory", memory}};
  }

  json describe(const ExportMemory& memory) const {
    const auto weights = [](std::string_view name, std::string_view dtype, i64 bytes) {
      return json{{"bytes", bytes}, {"weights", name}, {"dtype", dtype}};
    };
    switch (memory.kind) {
      case Kind::Arena: return {{"bytes", f_.plan->arenas()[memory.index]->bytes()}};
      case Kind::Constant: {
        const ExportedConstant& constant = layout_.constants()[memory.index];
        return weights(constant.name, "U8", constant.buffer->bytes());
      }
      case Kind::Argument: return {{"bytes", f_.arguments[memory.index].bytes()}};
      case Kind::State: {
        const Value& state = f_.states[memory.index];
        return weights(state.name, io::safetensors_name(state.dtype), state.bytes());
      }
      default: return {{"bytes", work_.fresh[memory.index].bytes}};
    }
  }

  // Its number; a new one gets the next.
  i64 memory(const ExportMemory& memory) {
    const auto key = std::pair(static_cast<u32>(memory.kind), memory.index);
    const auto [at, is_new] = numbers_.emplace(key, static_cast<i64>(numbers_.size()));
    if (is_new) {
      json described = describe(memory);
      bytes_.push_back(whole_words(described["bytes"].get<i64>()));
      most_bytes_ = std::max(most_bytes_, bytes_.back());
      program_["memory"].push_back(std::move(described));
    }
    return at->second;
  }

  i64 pipeline(const codegen::WgslLaunch& launch, const core::Binary& binary) {
    const auto [at, is_new] =
        pipelines_.emplace(launch.source, static_cast<i64>(pipelines_.size()));
    if (is_new)
      program_["pipelines"].push_back(
          {{"entry", binary.name}, {"written", launch.written}, {"source", launch.source}});
    return at->second;
  }

  // A part of a memory, which a binding shows.
  struct Window {
    i64 memory, begin, end;
  };

  void launch(const ExecutionPlan::Item& item, const WgslKernel& kernel) {
    std::vector<Window> windows;
    std::vector<u32> sharing;
    const std::span<const ExecutionPlan::Argument> arguments = work_.arguments_of(item);
    for (const ExecutionPlan::Argument& argument : arguments) {
      const i64 number = memory(layout_.memory_of(argument));
      const auto same = [&](const Window& window) { return window.memory == number; };
      auto at = std::find_if(windows.begin(), windows.end(), same);
      if (at == windows.end()) at = windows.insert(at, {number, argument.offset, argument.offset});
      at->begin = std::min(at->begin, argument.offset);
      at->end = std::max(at->end, argument.offset + argument.bytes);
      sharing.push_back(static_cast<u32>(at - windows.begin()));
    }
    json bindings = json::array();
    for (Window& window : windows) {
      window.begin = window.begin / kAlignment * kAlignment;
      const i64 bytes = whole_words(window.end - window.begin);
      most_bound_ = std::max(most_bound_, bytes);
      bindings.push_back({{"memory", window.memory}, {"offset", window.begin}, {"bytes", bytes}});
    }
    most_bindings_ = std::max(most_bindings_, windows.size());

    const codegen::WgslLaunch launch = codegen::wgsl_launch(kernel.source, sharing);
    std::vector<i64> words(launch.words, 0);
    for (usize i = 0; i < arguments.size(); ++i)
      words[launch.params[i].offset_word] =
          (arguments[i].offset - windows[sharing[i]].begin) / launch.params[i].offset_unit;
    json variables = json::array();
    const std::span<const u32> places = work_.variables_of(item);
    for (usize i = 0; i < places.size(); ++i)
      variables.push_back({{"word", launch.variable_words[i]}, {"variable", places[i]}});
    program_["steps"].push_back({{"pipeline", pipeline(launch, kernel.binary)},
                                 {"groups", kernel.binary.grid_groups},
                                 {"bindings", std::move(bindings)},
                                 {"words", std::move(words)},
                                 {"variables", std::move(variables)}});
  }

  void copy(const ExecutionPlan::Item& item) {
    const std::span<const ExecutionPlan::Argument> ends = work_.arguments_of(item);
    const i64 to = memory(layout_.memory_of(ends[0])), from = memory(layout_.memory_of(ends[1]));
    i64 bytes = item.copy_bytes;
    // The rest of a memory's last word is nobody's.
    if (ends[0].offset == 0 && bytes % 4 != 0 && whole_words(bytes) == bytes_[to])
      bytes = whole_words(bytes);
    if (bytes % 4 != 0 || ends[0].offset % 4 != 0 || ends[1].offset % 4 != 0 ||
        ends[1].offset + bytes > bytes_[from])
      throw fail(ErrorKind::Unsupported,
                 "cannot export a copy of {} bytes from byte {} to byte {} as WGSL: WebGPU copies "
                 "whole words",
                 item.copy_bytes, ends[1].offset, ends[0].offset);
    program_["steps"].push_back({{"to", to},
                                 {"to_offset", ends[0].offset},
                                 {"from", from},
                                 {"from_offset", ends[1].offset},
                                 {"bytes", bytes}});
  }

  const ExportedFunction& f_;
  const ExecutionPlan& work_;
  const std::vector<WgslKernel>& kernels_;
  const ExportLayout& layout_;
  json program_;
  std::map<std::pair<u32, u32>, i64> numbers_;
  std::map<std::string, i64> pipelines_;
  std::vector<i64> bytes_;  // by memory, in whole words
  usize most_bindings_ = 1;
  i64 most_bound_ = 4, most_bytes_ = 4;
};

void replace(std::string* text, std::string_view what, std::string_view with) {
  for (usize at = 0; (at = text->find(what, at)) != std::string::npos; at += with.size())
    text->replace(at, what.size(), with);
}

}  // namespace

std::string wgsl_module(const ExportedFunction& function, const std::string& name,
                        const std::vector<WgslKernel>& kernels, const ExportLayout& layout) {
  const json program = Module(function, name, kernels, layout).program();
  std::string text(wgsl_module_template());
  replace(&text, "@NAME@", name);
  replace(&text, "@PROGRAM@", program.dump(1));
  return text;
}

std::string wgsl_page(const std::string& name) {
  std::string text(wgsl_page_template());
  replace(&text, "@NAME@", name);
  return text;
}

}  // namespace doorbell::detail
