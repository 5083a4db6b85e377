// Exceptions: cases that an implementation is known to get wrong, by name and with the reason, from
// a file. For what a device cannot declare about itself: bugs of its compiler that Doorbell cannot
// work around. They are not run, because some end the process, and are counted as skipped.
//
//   # comment
//   ^binary/i8/.*/(div|mod)$   its LLVM crashes on vectors of them
#pragma once

#include "conformance/suite.h"

namespace doorbell::conformance {

// Gives the cases of the suite that match a line's regular expression the reason after it. Fails
// for a line without a reason, and for one that matches no case, so that fixed cases are removed.
// `file` names the text in messages.
Result<void> except(Suite* suite, std::string_view text, std::string_view file);

}  // namespace doorbell::conformance
