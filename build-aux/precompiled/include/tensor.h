// What most files of tensor/ include besides, parsed once for them.
#include "build-aux/precompiled/include/library.h"

#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/node.h"
#include "tensor/api/tensor.h"
