// MPI_T_cvar_write, where there is such a variable.
#include "drivers/mpi/module/allreduce_choice.h"

#include <mpi.h>

namespace doorbell::mpi {
namespace {

constexpr int kRabenseifner = 3, kRecursiveDoubling = 4;
// More is split among the processes: each adds up its own part of it.
constexpr i64 kMaxWhole = 65536;

struct Choice {
  MPI_T_cvar_handle handle{};
  bool is_ours = false;
  int value = 0;
};

Choice& choice() {
  static Choice& choice = *new Choice;
  return choice;
}

}  // namespace

void find_allreduce_choice() {
  int provided = 0, index = 0, count = 0, value = -1;
  if (MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) return;
  if (MPI_T_cvar_get_index("coll_libnbc_iallreduce_algorithm", &index) != MPI_SUCCESS) return;
  Choice& made = choice();
  if (MPI_T_cvar_handle_alloc(index, nullptr, &made.handle, &count) != MPI_SUCCESS || count != 1)
    return;
  made.is_ours = MPI_T_cvar_read(made.handle, &value) == MPI_SUCCESS && value == 0;
}

void choose_allreduce(i64 bytes) {
  Choice& made = choice();
  const int wanted = bytes > kMaxWhole ? kRabenseifner : kRecursiveDoubling;
  if (!made.is_ours || made.value == wanted) return;
  made.is_ours = MPI_T_cvar_write(made.handle, &wanted) == MPI_SUCCESS;
  made.value = wanted;
}

}  // namespace doorbell::mpi
