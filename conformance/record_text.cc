// Records and comparisons as text and JSON.
#include <fmt/format.h>

#include "base/util/hash.h"
#include "base/util/try.h"
#include "conformance/record.h"

namespace doorbell::conformance {
namespace {

using nlohmann::json;

// Of the form of records, raised when it changes.
constexpr int kVersion = 1;

std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<usize>(byte >> 4)];
    text += kDigits[std::to_integer<usize>(byte & std::byte{15})];
  }
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::vector<std::byte>> bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(hex.size() / 2);
  for (usize i = 0; i < hex.size(); i += 2) {
    const int high = digit_of(hex[i]), low = digit_of(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(high << 4 | low));
  }
  return bytes;
}

std::string hash_text(std::span<const std::byte> bytes) {
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return fmt::format("{:016x}", hash_bytes(view));
}

// Throws json::exception for a line that lacks something. False: it contradicts itself.
bool add_line(const json& line, Record* record) {
  RecordedTensor tensor;
  if (!core::parse_dtype(line.at("dtype").get<std::string>(), &tensor.dtype)) return false;
  tensor.shape = line.at("shape").get<std::vector<i64>>();
  tensor.hash = line.at("hash").get<std::string>();
  tensor.approximate = line.value("approximate", "");
  if (line.contains("bytes")) {
    auto bytes = bytes_of(line.at("bytes").get<std::string>());
    if (!bytes ||
        bytes->size() != static_cast<usize>(count_of(tensor.shape) * tensor.dtype.bytes()))
      return false;
    tensor.bytes = std::move(*bytes);
    tensor.hash = hash_text(tensor.bytes);
  }
  const std::string name =
      fmt::format("{} {} {}", line.at("case").get<std::string>(), line.at("number").get<usize>(),
                  line.at("what").get<std::string>());
  return record->tensors.emplace(name, std::move(tensor)).second;
}

std::string_view kind_of(const RecordDifference& difference) {
  if (difference.only_nan()) return "nan";
  return difference.approximate.empty() ? "exact" : "approximate";
}

}  // namespace

std::string record_header(const Target& target, const Options& options) {
  return json{{"doorbell_record", kVersion},
              {"device", target.device->name()},
              {"renderer", target.device->spec().renderer},
              {"arch", target.device->spec().arch},
              {"description", target.device->description()},
              // Plans of kernels depend on it: see compare_records().
              {"busy_items", target.caps.busy_items},
              {"seed", options.seed},
              {"sample_one_in", options.sample_one_in},
              {"filter", options.filter}}
      .dump();
}

std::string record_line(const std::string& case_name, usize number, const Held& held) {
  json line{{"case", case_name},         {"number", number},    {"what", held.what},
            {"dtype", held.dtype.str()}, {"shape", held.shape}, {"hash", hash_text(held.bytes)}};
  if (held.bytes.size() <= kMostRecordedBytes) line["bytes"] = hex_of(held.bytes);
  if (!held.approximate.empty()) line["approximate"] = held.approximate;
  return line.dump();
}

Result<Record> parse_record(std::string_view text, const std::string& file) {
  Record record;
  usize number = 0;
  while (!text.empty()) {
    const usize end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    try {
      json parsed = json::parse(line);
      bool sound = true;
      if (number == 1) {
        sound = parsed.value("doorbell_record", 0) == kVersion && parsed.contains("seed");
        record.run = std::move(parsed);
      } else {
        sound = add_line(parsed, &record);
      }
      if (!sound)
        return fail(ErrorKind::Corrupt, "{}:{}: this is not a record's line", file, number);
    } catch (const json::exception& error) {
      return fail(ErrorKind::Corrupt, "{}:{}: {}", file, number, error.what());
    }
  }
  if (number == 0) return fail(ErrorKind::Corrupt, "{} is empty, expected a record", file);
  return record;
}

json to_json(const RecordComparison& comparison) {
  json dtypes = json::object();
  for (const auto& [dtype, counts] : comparison.dtypes)
    dtypes[dtype] = {{"tensors", counts.tensors},
                     {"elements", counts.elements},
                     {"exact", counts.exact},
                     {"approximate", counts.approximate},
                     {"nan", counts.nan},
                     {"most_exact_ulps", counts.most_exact_steps},
                     {"most_approximate_ulps", counts.most_approximate_steps}};
  json differences = json::array();
  for (const RecordDifference& one : comparison.differences)
    differences.push_back({{"name", one.name},
                           {"kind", kind_of(one)},
                           {"approximate", one.approximate},
                           {"dtype", one.dtype.str()},
                           {"elements", one.elements},
                           {"differ", one.differ},
                           {"nans", one.nans},
                           {"most_ulps", one.most_steps},
                           {"first", one.first}});
  return {{"compared", comparison.compared()},
          {"exact", comparison.exact()},
          {"approximate", comparison.approximate()},
          {"nan", comparison.nan()},
          {"only_first", comparison.only_first},
          {"only_second", comparison.only_second},
          {"note", comparison.note},
          {"dtypes", dtypes},
          {"differences", differences}};
}

std::string to_text(const RecordComparison& comparison) {
  std::string text;
  for (const RecordDifference& one : comparison.differences) {
    text += fmt::format("{} {}{}\n    {}", kind_of(one), one.name,
                        one.approximate.empty() ? "" : " (" + one.approximate + ")", one.first);
    if (one.differ > 1)
      text += fmt::format("; {} of {} elements differ, by at most {}{}", one.differ, one.elements,
                          one.most_steps, one.dtype.is_float() ? " ulps" : "");
    text += '\n';
  }
  text += fmt::format("{:<8} {:>8} {:>10} {:>8} {:>12} {:>8} {:>12} {:>8}\n", "dtype", "tensors",
                      "elements", "exact", "ulps", "approx.", "ulps", "NaN");
  for (const auto& [dtype, counts] : comparison.dtypes)
    text += fmt::format("{:<8} {:>8} {:>10} {:>8} {:>12} {:>8} {:>12} {:>8}\n", dtype,
                        counts.tensors, counts.elements, counts.exact, counts.most_exact_steps,
                        counts.approximate, counts.most_approximate_steps, counts.nan);
  text += fmt::format(
      "\n{} tensors compared: {} of exact arithmetic differ, {} of approximate, "
      "{} in the bits of NaN alone",
      comparison.compared(), comparison.exact(), comparison.approximate(), comparison.nan());
  if (comparison.only_first + comparison.only_second > 0)
    text += fmt::format("; {} are only in the first record, {} only in the second",
                        comparison.only_first, comparison.only_second);
  text += '\n';
  if (!comparison.note.empty()) text += "note: " + comparison.note + '\n';
  return text;
}

}  // namespace doorbell::conformance
