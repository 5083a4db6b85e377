// Everything a program that uses tensors needs, in one include. What each part is: docs/api.md.
#pragma once

#include "tensor/api/dtype_info.h"
#include "tensor/api/jit.h"
#include "tensor/api/tensor.h"
#include "tensor/io/files.h"
#include "tensor/io/idx.h"
#include "tensor/io/optim_file.h"
#include "tensor/io/safetensors.h"
#include "tensor/nn/activations.h"
#include "tensor/nn/attention.h"
#include "tensor/nn/clip.h"
#include "tensor/nn/layers.h"
#include "tensor/nn/module.h"
#include "tensor/nn/optim.h"
#include "tensor/nn/recurrent.h"
#include "tensor/nn/schedule.h"
#include "tensor/nn/sequential.h"
