// Values of tensors as Python's numbers and lists.
#pragma once

#include "python/binding/arguments.h"

namespace doorbell::python {

nb::object to_list(const Tensor& tensor);
// Of one element.
nb::object to_item(const Tensor& tensor);

}  // namespace doorbell::python
