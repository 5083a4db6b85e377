// What the Variables of a size are bound to: the number that it is now, the size without it, and
// the size bound anew. Readout needs the first, jit the others. For sizes themselves see size.h.
//
// Not for users.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/schedule/graph_key.h"
#include "tensor/api/size.h"

namespace doorbell::detail {

using Bindings = std::vector<core::BoundVariable>;

// Whether all its Variables are bound.
bool is_bound(const Size& size);
// Throws Error where one is not.
i64 bound_value(const Size& size);
// In messages: "3", or "n (3 now)".
std::string str_now(const Size& size);
std::vector<i64> bound_values(const Shape& shape);
i64 bound_numel(const Shape& shape);

// The same size over Variables that are bound to nothing: equal for two sizes that differ only in
// what is bound.
Size without_bindings(const Size& size);
Shape without_bindings(const Shape& shape);
// Whether without_bindings(Size(dim)) == unbound.
bool same_unbound(core::Dim dim, const Size& unbound);
// Each Variable of `unbound` bound to the value that `bindings` has under its name.
Shape with_bindings(const Shape& unbound, std::span<const core::BoundVariable> bindings);

// With what `bindings` has for its Variables; what is not there stays as it is bound.
Size rebound(const Size& size, std::span<const core::BoundVariable> bindings);
// Throws Error, which begins with `what`, unless low <= high for what is bound.
void require_now(const Size& low, const Size& high, const std::string& what);

// Appends each Variable that the size binds, once per place.
void collect_bindings(core::Dim dim, Bindings* bindings);

}  // namespace doorbell::detail
