// Golden files for tests: text kept under tests/ that a reviewer reads. UPDATE_GOLDEN=1 rewrites
// them; the diff is the review.
//
//   EXPECT_GOLDEN("tests/golden/schedule/softmax.txt", print(schedule));
#pragma once

#include <string>

#include <gtest/gtest.h>

namespace doorbell::testing {

// The absolute path of a file named from the project's root.
std::string source_path(const std::string& path_from_root);

// The content of a file named from the project's root; fails the running test when there is none.
std::string read_source(const std::string& path_from_root);

// Compares text with the golden file, naming the first line that differs.
::testing::AssertionResult matches_golden(const std::string& path_from_root,
                                          const std::string& text);

}  // namespace doorbell::testing

#define EXPECT_GOLDEN(path, text) EXPECT_TRUE(::doorbell::testing::matches_golden(path, text))
