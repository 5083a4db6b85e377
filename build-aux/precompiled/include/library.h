// What most files of the library include, parsed once for all of them (meson.build beside this).
// A file still includes what it uses: `-Db_pch=false` compiles without this.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include "base/util/check.h"
#include "base/util/try.h"
#include "base/util/types.h"
