#pragma once

/* What the library asks of MPI. The module that does it is the only code that is compiled with MPI's header,
 * whose handles differ between implementations; it is loaded by programs that mpirun or srun started as
 * several processes. Functions return 0, or MPI's code for an error; none but `beat` is called by two threads
 * at once. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes for, or from, one rank; none if `bytes` is 0. */
struct adjoint_mpi_block {
  void* data;
  size_t bytes;
};

struct adjoint_mpi_calls {
  int (*start)(int* rank, int* ranks);
  /* sends[p] goes to rank p, into its receives[rank]; those of this rank are left alone. Waits for all. */
  int (*exchange)(const struct adjoint_mpi_block* sends, const struct adjoint_mpi_block* receives);
  /* `bytes` of each rank, in their order. */
  int (*gather)(const void* mine, void* all, int bytes);
  /* Sends a sign of life to the next rank, if it has taken the one before; *heard: whether one came from the
   * rank before this one. `last`: no further one follows. Both are 2 once the last is sent, and has come. */
  int (*beat)(int last, int* sent, int* heard);
  int (*finish)(void);
  void (*abort)(int status);
  /* The text for a code, of less than 1,024 characters. */
  void (*describe)(int code, char* text);
};

extern const struct adjoint_mpi_calls adjoint_mpi_module;

#ifdef __cplusplus
}
#endif
