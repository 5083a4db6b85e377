// Everything a program that uses tensors needs, in one include. What each part is: docs/api.md.
#pragma once

#include "tensor/api/tensor.h"
