// Programs of several processes, in one include beside doorbell.h, because few programs are:
// docs/distributed.md.
#pragma once

#include "tensor/dist/dist.h"
#include "tensor/dist/mesh.h"
