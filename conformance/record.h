// Records of what a run's tensors held, bit by bit, and the comparison of two: a GPU and its
// emulator run the same kernels, so that each differing bit of exact arithmetic is an error of one
// of them. A record is a file of JSON lines: the run, then a line for each tensor.
//
// What approximates is counted apart: see Held::approximate. So is NaN, whose bits nothing
// promises.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/run.h"

namespace doorbell::conformance {

struct RecordedTensor {
  DType dtype;
  std::vector<i64> shape;
  std::string hash;              // of all bytes
  std::vector<std::byte> bytes;  // empty for a tensor over kMostRecordedBytes
  std::string approximate;       // as in Held
};

struct Record {
  nlohmann::json run;                             // device, renderer, description, seed
  std::map<std::string, RecordedTensor> tensors;  // by case, number in the case, and what it is
};

// Larger tensors are recorded by their hash.
inline constexpr usize kMostRecordedBytes = usize{1} << 20;

// Lines without their ends.
std::string record_header(const Target& target, const Options& options);
std::string record_line(const std::string& case_name, usize number, const Held& held);
// `file` is for messages. Fails for text that is no record.
Result<Record> parse_record(std::string_view text, const std::string& file);

// A tensor whose bits differ between two records.
struct RecordDifference {
  std::string name;
  std::string approximate;
  DType dtype;
  i64 elements = 0;
  i64 differ = 0;      // of the elements, those that are NaN in both not counted; -1: not known
  i64 nans = 0;        // NaN in both, of other bits
  u64 most_steps = 0;  // the farthest of those that differ; see steps_between()
  std::string first;   // "element (0, 2): 1.5 (0x3fc00000) and 1.25 (0x3fa00000), 2097152 ulps"
  bool only_nan() const { return differ == 0; }
};

// Of the tensors of a dtype.
struct RecordCount {
  i64 tensors = 0, elements = 0;
  i64 exact = 0, approximate = 0, nan = 0;  // tensors that differ, by what they hold
  u64 most_exact_steps = 0, most_approximate_steps = 0;
};

struct RecordComparison {
  // Why tensors may differ although nothing is wrong; empty: nothing is known.
  std::string note;
  i64 only_first = 0, only_second = 0;  // tensors that one record lacks
  std::map<std::string, RecordCount> dtypes;
  std::vector<RecordDifference> differences;  // by name
  i64 compared() const;
  i64 exact() const;  // tensors of exact arithmetic that differ
  i64 approximate() const;
  i64 nan() const;
};

// Fails for records of other seeds, whose inputs differ, and for those that share no tensor.
Result<RecordComparison> compare_records(const Record& first, const Record& second);

// How many numbers of the dtype lie from one to the other: 1 for neighbours. Of integers their
// distance, of floats in units in the last place. Infinities are the neighbours of the largest.
u64 steps_between(DType dtype, u64 a, u64 b);

nlohmann::json to_json(const RecordComparison& comparison);
std::string to_text(const RecordComparison& comparison);

}  // namespace doorbell::conformance
