// The names in a folder of files that are kept by their paths: what doors list whose files are not
// the system's.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace doorbell::os {

// Of the keys of an ordered map, sorted; those of deeper folders count by their folder's name.
template <class ByPath>
std::vector<std::string> names_in(const ByPath& files, const std::string& folder) {
  std::set<std::string> names;
  for (auto file = files.lower_bound(folder + "/");
       file != files.end() && file->first.starts_with(folder + "/"); ++file) {
    const std::string rest = file->first.substr(folder.size() + 1);
    names.insert(rest.substr(0, rest.find('/')));
  }
  return {names.begin(), names.end()};
}

}  // namespace doorbell::os
