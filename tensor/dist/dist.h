// Several processes that run one program (SPMD), over MPI: start it by `mpirun -n 4 PROGRAM`.
//
//   dist::init();
//   const Devices all = dist::devices();              // "CPU@0,CPU@1,CPU@2,CPU@3"
//   Tensor x = load(...).shard(all, 0);               // each process keeps its rows
//   Tensor total = (x * w.to(all)).sum();             // summed over all of them
//   if (dist::rank() == 0) print(total);              // each process has the result
//
// A tensor on a device without a rank ("CPU") is in every process. What each computes should be the
// same, as it is where all run the same program on the same data. Tensors over devices with ranks
// are one value of all processes: every process must do the same with them in the same order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::dist {

struct InitOptions {
  // An exchange that takes longer is an error, which names the processes that are missing.
  f64 timeout_s = 300;
};

// Joins the processes that mpirun, srun or another launcher of MPI started. Once; again does
// nothing. Throws Error where no launcher did, or where this build has no MPI.
void init(const InitOptions& options = {});
bool is_initialized();
// Leaves the others once all of them are here, for good. A program that ends without it waits for
// them too, but no error of that is thrown.
void destroy();
// 0 of 1 without init().
int rank();
int world_size();
int local_rank();  // among the processes of this machine

// The device of every process, in order of their ranks; "CPU" becomes "CPU@0,CPU@1,...". Empty: the
// default device's kind. With one process, that device.
Devices devices(std::string_view device = {});

// One value of each process, x, as parts of one: along `axis`, in the order of `on`.
Tensor from_local(const Tensor& x, const Devices& on, i64 axis = 0);
// This process's part of a value of several.
Tensor to_local(const Tensor& x);

enum class ReduceOp { Sum, Mean, Product, Max, Min };

// Of each process's own x, which are of one shape. Lazy, as all operations are, with gradients.
Tensor all_reduce(const Tensor& x, ReduceOp op = ReduceOp::Sum);
// All of them, along a new first axis.
Tensor all_gather(const Tensor& x);
// All combined, of which each process gets its part of the first axis.
Tensor reduce_scatter(const Tensor& x, ReduceOp op = ReduceOp::Sum);
// Row i of x goes to process i.
Tensor all_to_all(const Tensor& x);
// Process `from`'s.
Tensor broadcast(const Tensor& x, int from = 0);
// Waits until every process is here.
void barrier();

// To one other process, which receives it: these two alone call this. Done when they return.
void send(const Tensor& x, int to);
Tensor recv(const Shape& shape, int from, const TensorOptions& options = {});

}  // namespace doorbell::dist
