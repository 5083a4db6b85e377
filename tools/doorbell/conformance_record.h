// Files of records for `doorbell conformance`: writing one while cases run, comparing two. For what
// they hold see conformance/record.h.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "conformance/record.h"

namespace doorbell::tools {

// Throws Error where the file cannot be written.
class RecordFile {
 public:
  // Replaces the file.
  RecordFile(const std::string& path, const conformance::Target& target,
             const conformance::Options& options);
  void add(const conformance::Case& one, const std::vector<conformance::Held>& held);
  void close();

 private:
  void write(std::string line);

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// Prints the comparison. The exit status: 1 where tensors of exact arithmetic differ.
int compare_record_files(const std::string& first, const std::string& second, bool as_json);

}  // namespace doorbell::tools
