// States of optimisers in files: safetensors of our own, and what torch.save wrote of
// optimizer.state_dict(). For what a state means see tensor/nn/optim_state.h.
//
//   io::save_optimizer("adam.safetensors", optimizer.state_dict());
//   optimizer.load_state_dict(io::load_optimizer("checkpoint.pt", "optimizer"));
//
// Both throw Error, with the path in the message.
#pragma once

#include <string>

#include "base/os/host.h"
#include "tensor/nn/optim_state.h"

namespace doorbell::io {

// The tensors as "state.0.exp_avg", the groups as JSON in the metadata "param_groups". Replaces the
// file as save_safetensors() does.
void save_optimizer(const std::string& path, const nn::OptimizerState& state,
                    os::Files& files = os::host_files());

// Of either kind, whatever its name. `key` is where the state stands in a checkpoint of PyTorch: a
// dict with the model's state beside it, say; empty: it is the whole file.
nn::OptimizerState load_optimizer(const std::string& path, const std::string& key = {},
                                  os::Files& files = os::host_files());

}  // namespace doorbell::io
