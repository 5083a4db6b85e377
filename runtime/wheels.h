// Where Python packages with libraries in them may be: vendors publish those as wheels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doorbell::runtime {

// Folders of this name that exist: beside the Python module of Doorbell, then in the virtual
// environment that is active.
std::vector<std::string> wheel_folders(std::string_view package);
// Then in those of the Pythons in PATH.
std::vector<std::string> wheel_folders_with_path(std::string_view package);

}  // namespace doorbell::runtime
