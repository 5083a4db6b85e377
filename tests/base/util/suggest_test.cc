// What counts as a misspelling.
#include "base/util/suggest.h"

#include <vector>

#include <gtest/gtest.h>

namespace doorbell {
namespace {

TEST(Suggest, FindsTheNearestWord) {
  const std::vector<std::string> words = {"CPU", "CUDA", "CL", "NULL", "METAL", "WEBGPU"};
  EXPECT_EQ(nearest_word("CUP", words), "CPU");
  EXPECT_EQ(nearest_word("cuda2", words), "CUDA");
  EXPECT_EQ(nearest_word("MEATL", words), "METAL");
  EXPECT_EQ(nearest_word("webgp", words), "WEBGPU");
  EXPECT_EQ(nearest_word("xyz", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  EXPECT_EQ(did_you_mean("NUL", words), "; did you mean NULL?");
  EXPECT_EQ(did_you_mean("TPUv4000", words), "");
}

}  // namespace
}  // namespace doorbell
