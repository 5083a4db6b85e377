// A reader of the pickles that torch.save writes (docs.python.org/3/library/pickletools.html, of
// protocols up to 5). It builds plain values and calls nothing: what a pickle names or calls is
// kept as a name, and only names of a given list are taken. Reading trusts nothing. For what the
// values mean see torch_file.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::io {

// A value; what it is made of are the numbers of other values. A list may contain itself.
struct PickleValue {
  enum class Kind : u8 {
    None,
    Bool,
    Int,
    Float,
    String,
    Tuple,       // items
    List,        // items
    Dict,        // keys and values by turns
    Global,      // text: "module.name"
    Persistent,  // one item: what stands for an object outside
    Call,        // a Global and its arguments, a Tuple
  };
  Kind kind = Kind::None;
  i64 integer = 0;
  f64 real = 0;
  std::string text;
  std::vector<u32> items;
};

struct Pickle {
  std::vector<PickleValue> values;
  u32 root = 0;
  usize bytes = 0;  // of the pickle, up to the end of its last instruction

  const PickleValue& operator[](u32 number) const { return values[number]; }
};

// The pickle at the start of `bytes`. A Global outside `allowed` is an error that names it.
Result<Pickle> parse_pickle(std::span<const u8> bytes, std::span<const std::string_view> allowed);

}  // namespace doorbell::io
