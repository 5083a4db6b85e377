// Lines are written as cases end, so that a run that is stopped leaves what it had.
#include "tools/doorbell/conformance_record.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/os/host.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {

using conformance::Record;

RecordFile::RecordFile(const std::string& path, const conformance::Target& target,
                       const conformance::Options& options)
    : path_(path), file_(std::fopen(path.c_str(), "w"), std::fclose) {
  if (!file_) throw fail_errno(errno, "write {}", path_);
  write(conformance::record_header(target, options));
}

void RecordFile::write(std::string line) {
  line += '\n';
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size())
    throw fail_errno(errno, "write {}", path_);
}

void RecordFile::add(const conformance::Case& one, const std::vector<conformance::Held>& held) {
  for (usize i = 0; i < held.size(); ++i) write(conformance::record_line(one.name, i, held[i]));
  if (std::fflush(file_.get()) != 0) throw fail_errno(errno, "write {}", path_);
}

void RecordFile::close() {
  if (std::fclose(file_.release()) != 0) throw fail_errno(errno, "write {}", path_);
}

int compare_record_files(const std::string& first, const std::string& second, bool as_json) {
  const auto read = [](const std::string& path) {
    return or_throw(
        conformance::parse_record(or_throw(os::read_text(os::host_system().files, path)), path));
  };
  const Record one = read(first), other = read(second);
  const auto comparison = or_throw(conformance::compare_records(one, other));
  if (as_json) {
    nlohmann::json all = to_json(comparison);
    all["first"] = one.run;
    all["second"] = other.run;
    fmt::print("{}\n", all.dump(2));
  } else {
    fmt::print("{}", to_text(comparison));
  }
  return comparison.exact() == 0 ? 0 : 1;
}

}  // namespace doorbell::tools
