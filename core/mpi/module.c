#include <adjoint/core/detail/mpi_module.h>

#include <mpi.h>
#include <stdlib.h>

static const size_t kMostBytes = (size_t)1 << 30; /* of a message: MPI counts in int */

static int rank_, ranks_;
static MPI_Comm exchanges_, beats_;
static MPI_Request sending_ = MPI_REQUEST_NULL, receiving_ = MPI_REQUEST_NULL;
static char sent_beat_, received_beat_;
static int all_sent_, all_heard_;

static int start(int* rank, int* ranks) {
  int code, threads;
  if ((code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &threads)) != MPI_SUCCESS) return code;
  if (threads != MPI_THREAD_MULTIPLE) return MPI_ERR_OTHER;
  if ((code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)) != MPI_SUCCESS) return code;
  if ((code = MPI_Comm_dup(MPI_COMM_WORLD, &exchanges_)) != MPI_SUCCESS) return code;
  if ((code = MPI_Comm_dup(MPI_COMM_WORLD, &beats_)) != MPI_SUCCESS) return code;
  if ((code = MPI_Comm_rank(MPI_COMM_WORLD, &rank_)) != MPI_SUCCESS) return code;
  if ((code = MPI_Comm_size(MPI_COMM_WORLD, &ranks_)) != MPI_SUCCESS) return code;
  *rank = rank_;
  *ranks = ranks_;
  return 0;
}

static int pieces(size_t bytes) { return (int)((bytes + kMostBytes - 1) / kMostBytes); }

static int exchange(const struct adjoint_mpi_block* sends, const struct adjoint_mpi_block* receives) {
  int count = 0, code = MPI_SUCCESS;
  for (int p = 0; p < ranks_; ++p)
    if (p != rank_) count += pieces(sends[p].bytes) + pieces(receives[p].bytes);
  if (count == 0) return 0;
  MPI_Request* requests = malloc((size_t)count * sizeof *requests);
  if (requests == NULL) return MPI_ERR_NO_MEM;
  int posted = 0;
  for (int receive = 1; receive >= 0; --receive)
    for (int p = 0; p < ranks_; ++p) {
      const struct adjoint_mpi_block* block = receive ? &receives[p] : &sends[p];
      if (p == rank_) continue;
      for (size_t begin = 0; begin < block->bytes && code == MPI_SUCCESS; begin += kMostBytes) {
        const size_t rest = block->bytes - begin;
        const int bytes = (int)(rest < kMostBytes ? rest : kMostBytes);
        char* data = (char*)block->data + begin;
        code = receive ? MPI_Irecv(data, bytes, MPI_BYTE, p, 0, exchanges_, &requests[posted])
                       : MPI_Isend(data, bytes, MPI_BYTE, p, 0, exchanges_, &requests[posted]);
        if (code == MPI_SUCCESS) ++posted;
      }
    }
  if (code == MPI_SUCCESS) code = MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
  free(requests);
  return code;
}

static int gather(const void* mine, void* all, int bytes) {
  return MPI_Allgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, exchanges_);
}

static int beat(int last, int* sent, int* heard) {
  int code, done;
  *heard = 0;
  if (receiving_ != MPI_REQUEST_NULL) {
    if ((code = MPI_Test(&receiving_, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS) return code;
    if (done) *heard = 1, all_heard_ = received_beat_;
  }
  if (receiving_ == MPI_REQUEST_NULL && !all_heard_) {
    const int before = (rank_ + ranks_ - 1) % ranks_;
    code = MPI_Irecv(&received_beat_, 1, MPI_BYTE, before, 0, beats_, &receiving_);
    if (code != MPI_SUCCESS) return code;
  }
  if (sending_ != MPI_REQUEST_NULL) {
    if ((code = MPI_Test(&sending_, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS) return code;
    if (done) all_sent_ = sent_beat_;
  }
  if (sending_ == MPI_REQUEST_NULL && !all_sent_) {
    sent_beat_ = (char)last;
    code = MPI_Isend(&sent_beat_, 1, MPI_BYTE, (rank_ + 1) % ranks_, 0, beats_, &sending_);
    if (code != MPI_SUCCESS) return code;
  }
  *sent = all_sent_ ? 2 : 0;
  if (all_heard_) *heard = 2;
  return 0;
}

static int finish(void) {
  const int code = MPI_Barrier(exchanges_);
  return code == MPI_SUCCESS ? MPI_Finalize() : code;
}

static void abort_all(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

static void describe(int code, char* text) {
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  text[length] = '\0';
}

const struct adjoint_mpi_calls adjoint_mpi_module = {start,  exchange,  gather,  beat,
                                                     finish, abort_all, describe};
