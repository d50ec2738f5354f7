#pragma once

#include <adjoint/core/error.h>
#include <adjoint/core/tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace adj {

/// A rank of the group failed, so that this one cannot go on. The message names it and says why.
class GroupError : public Error {
 public:
  using Error::Error;
};

/// Columns [begin, begin + count) of a matrix.
struct ColumnRange {
  int64_t begin = 0, count = 0;
};

/// Moves bytes between the ranks of a Group. All ranks make the same calls in the same order; each returns
/// when its own tensors may be read and written again.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int64_t rank() const = 0;  ///< from 0
  virtual int64_t size() const = 0;  ///< number of ranks
  /// sends[p] goes to rank p, into its receives[rank()], of the same dtype and number of elements; absent
  /// tensors on both sides send nothing. `call`: what the ranks agree on, equal on all of them.
  virtual void exchange(std::string_view call, std::span<const Tensor> sends, std::span<Tensor> receives) = 0;
  /// Whether exchange_columns() may be called, the same for all ranks.
  virtual bool takes_columns() const { return false; }
  /// exchange() of these columns of sends[p] [n, C], from where they are, into receives[] [n, count] of the
  /// other ranks. Throws Error unless takes_columns().
  virtual void exchange_columns(std::string_view call, std::span<const Tensor> sends, ColumnRange columns,
                                std::span<Tensor> receives);
  /// Returns when all ranks have called it with blocks that fit, as exchange() needs them; else all of them
  /// throw Error. The result: where rank p receives this one's block, by rank, null for none; empty if the
  /// ranks are processes, which do not see each other's memory.
  virtual std::vector<void*> agree(std::string_view call, std::span<const Tensor> sends,
                                   std::span<const Tensor> receives) = 0;
  /// The tensors that the ranks give, by rank: they themselves, written and readable by any stream. Throws
  /// Error if the ranks are processes.
  virtual std::vector<Tensor> share(std::string_view call, const Tensor& x) = 0;
  virtual bool capturable() const { return false; }  ///< whether a captured step may exchange
  /// Why a rank cannot go on; empty if none has failed. Any thread may ask.
  virtual std::string failure() const = 0;
};

/// The ranks that train together, each with its own part of the rows. Bytes move; sums are left to kernels,
/// whose order does not depend on the number of ranks. All ranks make the same calls in the same order with
/// tensors of the same dtype and width, or all of them throw; a rank that fails ends the others' calls with a
/// GroupError that names it. A value, cheap to copy; a rank's calls are made by one thread. A copy from a GPU
/// waits for that GPU's work, and its exchanges for all ranks: copy what is on another rank's GPU before any
/// exchange, with a barrier() behind.
class Group {
 public:
  /// One rank.
  Group() = default;
  explicit Group(std::shared_ptr<Transport> transport, Device device = {})
      : transport_(std::move(transport)), device_(device) {}

  Device device() const { return device_; }  ///< of this rank; the CPU unless said otherwise
  /// Whether a captured step may call it.
  bool capturable() const { return !transport_ || transport_->capturable(); }
  int64_t rank() const { return transport_ ? transport_->rank() : 0; }  ///< from 0
  int64_t size() const { return transport_ ? transport_->size() : 1; }  ///< number of ranks

  /// Row blocks [n_p, ...] to and from every rank p; that of this rank is copied. The ranks know the sizes of
  /// what they receive. An absent block on both sides moves nothing. Throws Error if shapes or dtypes differ.
  void exchange(std::span<const Tensor> sends, std::span<Tensor> receives) const;
  /// Whether exchange_columns() may be called: GPUs of one process that reach each other's memory.
  bool takes_columns() const { return transport_ && transport_->takes_columns(); }
  /// Columns of sends[p] [n, C] to every other rank p, without a copy of them before, into its receives[]
  /// [n, columns.count]; absent for none. Throws as exchange().
  void exchange_columns(std::span<const Tensor> sends, ColumnRange columns, std::span<Tensor> receives) const;
  /// The rows of all ranks in the order of ranks: [sum n_p, ...] of x [n_p, ...].
  Tensor gather(const Tensor& x) const;
  /// The same where n_p = rows[p] is known, without a word between hosts that a captured step cannot hold.
  Tensor gather(const Tensor& x, std::span<const int64_t> rows) const;
  /// The texts of all ranks, in their order.
  std::vector<std::string> gather(std::string_view text) const;
  /// Overwrites x by that of rank `root`, of the same shape.
  void broadcast(Tensor& x, int64_t root) const;
  /// The tensors of all ranks, in their order, of one dtype and width: no copies, so that ranks which are
  /// threads of one process see each other's memory. What their current streams have queued for them is done.
  /// Throws Error if the ranks are processes.
  std::vector<Tensor> share(const Tensor& x) const;
  /// Returns when all ranks have called it.
  void barrier() const;

 private:
  std::shared_ptr<Transport> transport_;
  Device device_;
};

/// Calls run(group) for each of `ranks` ranks, threads of this process, which may share a device: for tests
/// and simulations (NCCL refuses two ranks on one GPU). Each rank draws from its own copies of this
/// thread's generators, which go on from where rank 0 ended. Returns when all are done; rethrows the first
/// failure.
void run_ranks(int64_t ranks, const std::function<void(const Group&)>& run);
/// The same with a device a rank, group.device(). GPUs that differ exchange tensors through NCCL 2.22 or
/// later, which is loaded then; without it by copies, which a captured step cannot hold: a line says so.
void run_ranks(std::span<const Device> devices, const std::function<void(const Group&)>& run);
/// Calls run(group) as one rank, on `device`, of the processes that mpirun or srun started together
/// (core/launch.h), all of which call it. MPI carries what is on their hosts, NCCL what is on GPUs that
/// differ; ranks on one GPU, or without NCCL, exchange by way of the host, outside of captured steps. A
/// process that fails, stops or dies ends all of them: the launcher ends those that are left, or MPI where
/// one has given no sign of life for some seconds. Throws Error if the library was built without MPI.
void run_process(Device device, const std::function<void(const Group&)>& run);

}  // namespace adj
