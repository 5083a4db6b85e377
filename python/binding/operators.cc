// Python's operators on tensors, with tensors, numbers and arrays on either side.
#include <nanobind/nanobind.h>

#include "python/binding/create.h"
#include "python/binding/module.h"
#include "tensor/api/operators.h"
#include "tensor/api/promotion.h"
#include "tensor/api/storage.h"

namespace doorbell::python {

namespace {

using Function = Tensor (*)(const Operand&, const Operand&);
using Change = Tensor& (Tensor::*)(const Operand&);

struct Binary {
  const char *name, *reflected;
  Function apply;
};

Tensor floor_div(const Operand& a, const Operand& b) {
  const Tensor* left = a.tensor;
  if (left != nullptr) return left->div(b, Rounding::Floor);
  const DType common = detail::promote(b.tensor->dtype(), a.number);
  return b.tensor->full_like(a.number, {.dtype = common}).div(b, Rounding::Floor);
}
Tensor matmul(const Operand& a, const Operand& b) {
  if (a.tensor == nullptr || b.tensor == nullptr)
    throw nb::type_error("@ takes tensors on both sides, not a number");
  return a.tensor->matmul(*b.tensor);
}

constexpr Binary kBinary[] = {
    {"__add__", "__radd__", &add},
    {"__sub__", "__rsub__", &sub},
    {"__mul__", "__rmul__", &mul},
    {"__truediv__", "__rtruediv__", &div},
    {"__floordiv__", "__rfloordiv__", &floor_div},
    {"__mod__", "__rmod__", &mod},
    {"__pow__", "__rpow__", &pow},
    {"__and__", "__rand__", &bitwise_and},
    {"__or__", "__ror__", &bitwise_or},
    {"__xor__", "__rxor__", &bitwise_xor},
    {"__lshift__", "__rlshift__", &shift_left},
    {"__rshift__", "__rrshift__", &shift_right},
    {"__matmul__", "__rmatmul__", &matmul},
    {"__lt__", nullptr, &less},
    {"__le__", nullptr, &less_equal},
    {"__eq__", nullptr, &equal},
    {"__ne__", nullptr, &not_equal},
};

struct InPlace {
  const char* name;
  Change change;
};
constexpr InPlace kInPlace[] = {{"__iadd__", &Tensor::operator+= },
                                 {"__isub__", &Tensor::operator-= },
                                  {"__imul__", &Tensor::operator*= },
                                   {"__itruediv__", &Tensor::operator/= },
                                    {"__imod__", &Tensor::operator%= },
                                     {"__iand__", &Tensor::operator&= },
                                      {"__ior__", &Tensor::operator|= },
                                       {"__ixor__", &Tensor::operator^= },
                                        {"__ilshift__", &Tensor::operator<<= },
                                         {
                                             "__irshift__",
                                             &Tensor::operator>>= },
                                        };

std::string signature(const char* name) {
  return std::string("def ") + name +
         "(self, x: Tensor | float | numpy.typing.ArrayLike, /) -> "
         "Tensor";
}

}  // namespace

void define_operators(TensorClass& tensor) {
  // nb::sig keeps the pointer: these live as long as the module.
  static auto& signatures = *new std::vector<std::unique_ptr<std::string>>;
  auto typed = [&](const char* name) {
    signatures.push_back(std::make_unique<std::string>(signature(name)));
    return nb::sig(signatures.back()->c_str());
  };
  for (const Binary& op : kBinary) {
    tensor.def(
        op.name, [apply = op.apply](const Tensor& a, const Value& b) { return apply(a, b); },
        nb::is_operator(), typed(op.name));
    if (op.reflected == nullptr) continue;
    tensor.def(
        op.reflected, [apply = op.apply](const Tensor& a, const Value& b) { return apply(b, a); },
        nb::is_operator(), typed(op.reflected));
  }
  tensor.def(
      "__gt__", [](const Tensor& a, const Value& b) { return less(b, a); }, nb::is_operator(),
      typed("__gt__"));
  tensor.def(
      "__ge__", [](const Tensor& a, const Value& b) { return less_equal(b, a); }, nb::is_operator(),
      typed("__ge__"));
  for (const InPlace& op : kInPlace)
    tensor.def(
        op.name,
        [change = op.change](nb::handle self, const Value& x) {
          (as_tensor(self).*change)(x);
          return nb::borrow(self);
        },
        nb::is_operator(), typed(op.name));
  for (const auto& [name, apply] :
       {std::pair("__ifloordiv__", &floor_div), std::pair("__ipow__", static_cast<Function>(&pow)),
        std::pair("__imatmul__", &matmul)})
    tensor.def(
        name,
        [apply = apply](nb::handle self, const Value& x) {
          detail::assign_result(as_tensor(self), apply(as_tensor(self), x));
          return nb::borrow(self);
        },
        nb::is_operator(), typed(name));
  tensor.def("__neg__", &Tensor::neg)
      .def("__pos__", [](const Tensor& x) { return x; })
      .def("__abs__", &Tensor::abs)
      .def("__invert__", &Tensor::bitwise_not);
  // Makes NumPy arrays leave operators with a tensor to the tensor.
  tensor.attr("__array_priority__") = 1000;
}

}  // namespace doorbell::python
