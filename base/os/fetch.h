// Downloads by http and https, with libcurl, which is loaded for the first URL. Called only for
// URLs that the user gave.
//
// Thread safety: may be called from any thread. Blocks until the whole body has arrived.
#pragma once

#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// The body of the answer; redirections are followed. An answer other than success, one of more than
// `max_bytes`, and a server that sends nothing for a minute are errors.
Result<std::vector<u8>> fetch_url(const std::string& url, usize max_bytes);

}  // namespace doorbell::os
