// `doorbell explain -- COMMAND`: runs a program and shows one of its kernels: plan, loop nest,
// share of the machine's peak, what bounds it, machine code; in the terminal and on a page. The
// texts are those of the page of graphs (GRAPH_FILE), which the program's runtime writes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "runtime/runtime.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/explain_page.h"
#include "tools/doorbell/or_throw.h"
#include "tools/doorbell/run_for_file.h"

namespace doorbell::tools {
namespace {

using nlohmann::json;

struct Options {
  std::string output = "doorbell.kernel.html", kernel;
  std::vector<std::string> command;
};

// The data of a page of graphs.
json data_of(const std::string& page) {
  constexpr std::string_view kBegin = "<script id=\"data\" type=\"application/json\">";
  const usize begin = page.find(kBegin), end = page.find("</script>", begin);
  if (begin == page.npos || end == page.npos)
    throw fail(ErrorKind::Corrupt, "the page of graphs has no data");
  return json::parse(page.substr(begin + kBegin.size(), end - begin - kBegin.size()));
}

ExplainedKernel kernel_of(const json& data) {
  ExplainedKernel kernel;
  kernel.name = data.at("name"), kernel.device = data.at("device");
  kernel.plan = data.at("plan"), kernel.linear = data.at("linear");
  kernel.source = data.at("source"), kernel.code = data.at("code");
  kernel.flops = data.at("flops"), kernel.bytes = data.at("bytes");
  kernel.count = data.value("count", i64{0});
  if (kernel.count > 0)
    kernel.ns = data.at("total_us").get<f64>() * 1e3 / static_cast<f64>(kernel.count);
  return kernel;
}

// The one in which most time was spent, of those whose name contains `name`.
ExplainedKernel choose(const json& data, const std::string& name) {
  std::vector<ExplainedKernel> kernels;
  for (const json& one : data.at("kernels")) {
    ExplainedKernel kernel = kernel_of(one);
    if (kernel.name.find(name) != std::string::npos) kernels.push_back(std::move(kernel));
  }
  if (kernels.empty())
    throw fail(ErrorKind::Invalid, "no kernel of the program is called '{}'", name);
  return *std::ranges::max_element(kernels, {}, [](const ExplainedKernel& kernel) {
    return kernel.ns * static_cast<f64>(kernel.count);
  });
}

int run(const Options& options) {
  or_throw(runtime::initialize());
  const std::string output = std::filesystem::absolute(options.output).string();
  const std::string graphs = output + ".graphs";
  setenv("GRAPH_FILE", graphs.c_str(), 1);
  const FileRun done = run_for_file(options.command, graphs, "kernels");
  if (!done.written) return done.status;
  const std::string page = or_throw(os::read_text(os::host_files(), graphs));
  std::filesystem::remove(graphs);
  const ExplainedKernel kernel = choose(data_of(page), options.kernel);
  const Ceiling ceiling = ceiling_of(kernel);
  fmt::print("\n{}", explain_text(kernel, ceiling));
  const std::string html = explain_page(kernel, ceiling);
  const std::span bytes(reinterpret_cast<const u8*>(html.data()), html.size());
  or_throw(os::replace_file(os::host_files(), output, bytes, os::host_random().next()));
  fmt::print("\nits machine code and a drawing: {} (a browser opens it)\n", output);
  return done.status;
}

}  // namespace

void add_explain(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("explain", "Run a program; show one of its kernels and what bounds it");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("--output", options->output, "The page, for a browser")
      ->capture_default_str();
  command->add_option("--kernel", options->kernel,
                      "A part of its name; otherwise the one that takes most time");
  command->add_option("command", options->command, "The program and its arguments, after --")
      ->required();
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
