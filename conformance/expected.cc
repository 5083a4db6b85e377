// A gzip stream of a length, a JSON text and raw elements.
#include "conformance/expected.h"

#include <zlib.h>

#include <cstring>

#include "base/util/check.h"

namespace doorbell::conformance {
namespace {

std::string inflated(std::span<const unsigned char> packed) {
  z_stream stream{};
  CHECK(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, "zlib does not start");
  stream.next_in = const_cast<unsigned char*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char chunk[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk, sizeof chunk - stream.avail_out);
  }
  inflateEnd(&stream);
  CHECK(status == Z_STREAM_END, "the expected values are damaged: zlib says {}", status);
  return text;
}

Array array_of(const nlohmann::json& entry, std::string_view elements) {
  Array array;
  const std::string dtype = entry.at("dtype");
  CHECK(core::parse_dtype(dtype, &array.dtype), "no dtype {}", dtype);
  const std::vector<i64> shape = entry.at("shape");
  const usize at = entry.at("at"),
              bytes = static_cast<usize>(count_of(shape) * array.dtype.bytes());
  CHECK(at + bytes <= elements.size(), "elements {} to {} of {}", at, at + bytes, elements.size());
  return Array::from_bytes(array.dtype, shape,
                           std::as_bytes(std::span(elements.substr(at, bytes))));
}

ExpectedCase case_of(const nlohmann::json& entry, std::string_view elements) {
  ExpectedCase made;
  made.name = entry.at("name");
  made.operation = entry.at("op");
  made.arguments = entry.at("args");
  made.moved = entry.at("moved");
  made.wide = entry.at("wide");
  made.depth = entry.at("depth");
  for (const auto& input : entry.at("inputs")) made.inputs.push_back(array_of(input, elements));
  for (const auto& output : entry.at("outputs")) made.outputs.push_back(array_of(output, elements));
  made.differentiated = entry.value("out", usize{0});
  if (entry.contains("upstream")) made.upstream = array_of(entry.at("upstream"), elements);
  for (const auto& gradient : entry.at("gradients"))
    made.gradients.push_back({gradient.at("input"), array_of(gradient, elements)});
  return made;
}

ExpectedCases cases_in(std::span<const unsigned char> packed) {
  const std::string file = inflated(packed);
  u64 length = 0;
  CHECK(file.size() > sizeof length, "the expected values are {} bytes", file.size());
  std::memcpy(&length, file.data(), sizeof length);
  const std::string_view view(file);
  const auto json = nlohmann::json::parse(view.substr(sizeof length, length));
  std::vector<ExpectedCase> cases;
  for (const auto& entry : json.at("cases"))
    cases.push_back(case_of(entry, view.substr(sizeof length + length)));
  return std::make_shared<const std::vector<ExpectedCase>>(std::move(cases));
}

}  // namespace

ExpectedCases expected_cases() {
  static const auto& all = *new ExpectedCases(cases_in(expected_bytes()));
  return all;
}

ExpectedCases edge_cases() {
  static const auto& all = *new ExpectedCases(cases_in(edges_bytes()));
  return all;
}

}  // namespace doorbell::conformance
