// What a URL names, over http and https: by libcurl, opened when the first URL is asked for.
// Nobody but who was given a URL by the user calls this.
//
// Thread safety: may be called from any thread. Blocks until all is here.
#pragma once

#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// The body of the answer; redirections are followed. An answer other than success, one of more than
// `most_bytes`, and a server that sends nothing for a minute are errors.
Result<std::vector<u8>> fetch_url(const std::string& url, usize most_bytes);

}  // namespace doorbell::os
