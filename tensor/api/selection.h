// Selection: what x[{...}] gives where x can be changed. Included by tensor.h, which declares what
// it works on; for which forms of index there are see slice.h.
#pragma once

#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell {

// The elements, and on the left of = their place.
class Selection : public Tensor {
 public:
  // `of_temporary`: the base is about to go. Assigning throws where nobody else would see it.
  Selection(Tensor base, std::vector<Index> indices, bool of_temporary = false);
  Selection(const Selection&) = default;
  void operator=(const Selection& value) && { assign_to_base(static_cast<const Tensor&>(value)); }
  void operator=(const Tensor& value) && { assign_to_base(value); }
  void operator=(Number value) && { assign_to_base(value); }
  void operator+=(const Operand& value) && { assign_to_base(add(value)); }
  void operator-=(const Operand& value) && { assign_to_base(sub(value)); }
  void operator*=(const Operand& value) && { assign_to_base(mul(value)); }
  void operator/=(const Operand& value) && { assign_to_base(div(value)); }
  void operator%=(const Operand& value) && { assign_to_base(mod(value)); }
  void operator&=(const Operand& value) && { assign_to_base(bitwise_and(value)); }
  void operator|=(const Operand& value) && { assign_to_base(bitwise_or(value)); }
  void operator^=(const Operand& value) && { assign_to_base(bitwise_xor(value)); }
  void operator<<=(const Operand& value) && { assign_to_base(lshift(value)); }
  void operator>>=(const Operand& value) && { assign_to_base(rshift(value)); }

 private:
  void assign_to_base(const Operand& value);
  Tensor base_;
  std::vector<Index> indices_;
  bool of_temporary_ = false;
};

}  // namespace doorbell
