// Where tensors are: on one device, or on several, split or copied. The u16 is a node's device, see
// core/uop/placement.h.
//
// Not for users.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/uop/uop.h"
#include "tensor/api/devices.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

// Of named devices; copies where they are several.
u16 device_number_named(const Devices& devices);
// Of the devices that a tensor is on; of the default one where nothing says.
u16 device_number_of(const Tensor& x);
// The value on the devices of that number; as it is for 0, on one device where it has none yet.
Tensor moved_to(const Tensor& x, u16 at);
// In place.
Tensor& move_(Tensor& x, const std::function<Tensor(const Tensor&)>& to);
// Fresh memory, with the bytes of `data` on each device or undefined.
core::UOpRef make_storage(u16 at, DType dtype, const std::vector<i64>& sizes,
                          std::span<const std::byte> data);
// The value of which this process's part is x, on that placement.
Tensor united(const Tensor& x, u16 at);
// Of a value on devices of several processes, the part on this one's: on the first that is.
Tensor own_part(const Tensor& x);
// The value in memory of its own.
Tensor stored_at(const Tensor& x, u16 at);
// Throws where a value on several devices could not be stored.
void refuse_symbolic(const Tensor& tensor);

}  // namespace doorbell::detail
