// What the tests made from documentation pages use. Included after <doorbell/doorbell.h>.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

namespace doorbell {

template <class Print>
std::string printed(Print print) {
  std::ostringstream out;
  print(out);
  return out.str();
}

template <class Run>
std::string thrown(Run run) {
  try {
    run();
  } catch (const Error& error) {
    return error.message;
  }
  return "nothing was thrown";
}

}  // namespace doorbell
