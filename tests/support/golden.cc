// Finds the project's root, reads and rewrites golden files.
#include "tests/support/golden.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace doorbell::testing {

namespace fs = std::filesystem;

// meson names the root; a test program started by hand, anywhere below the root, looks upwards for
// it.
static fs::path root() {
  if (const char* named = std::getenv("DOORBELL_SOURCE_ROOT")) return named;
  for (fs::path at = fs::current_path(); at != at.parent_path(); at = at.parent_path())
    if (fs::exists(at / "meson_options.txt")) return at;
  return ".";
}

std::string source_path(const std::string& path_from_root) {
  return (root() / path_from_root).string();
}

std::string read_source(const std::string& path_from_root) {
  std::ifstream file(source_path(path_from_root), std::ios::binary);
  if (!file) ADD_FAILURE() << "cannot read " << source_path(path_from_root);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

static void write_source(const std::string& path_from_root, const std::string& text) {
  fs::path path = source_path(path_from_root);
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

::testing::AssertionResult matches_golden(const std::string& path_from_root,
                                          const std::string& text) {
  const char* update = std::getenv("UPDATE_GOLDEN");
  if (update && std::string(update) == "1") {
    write_source(path_from_root, text);
    return ::testing::AssertionSuccess();
  }
  if (!fs::exists(source_path(path_from_root)))
    return ::testing::AssertionFailure()
           << "no golden file " << path_from_root << "; UPDATE_GOLDEN=1 writes it. The text:\n"
           << text;
  std::string golden = read_source(path_from_root);
  if (golden == text) return ::testing::AssertionSuccess();

  std::istringstream want(golden), have(text);
  std::string want_line, have_line;
  int line = 0;
  bool more_want, more_have;
  do {
    more_want = static_cast<bool>(std::getline(want, want_line));
    more_have = static_cast<bool>(std::getline(have, have_line));
    ++line;
  } while (more_want && more_have && want_line == have_line);
  return ::testing::AssertionFailure()
         << path_from_root << ":" << line << " expects\n  "
         << (more_want ? want_line : "(end of file)") << "\nthe text has\n  "
         << (more_have ? have_line : "(end of text)") << "\nin\n"
         << text;
}

}  // namespace doorbell::testing
