#pragma once

#include <adjoint/graph/ranks/rank_scope.h>
#include <adjoint/training/run.h>

#include <functional>

namespace adj::training {

/// What one rank of a training over several devices computes: its rows of the task's graph and features, on
/// its device, or its share of each mini-batch of the whole, which it has there. A RankScope of its thread.
class RankPart {
 public:
  /// All ranks make theirs together, of the same task; `devices` of all of them.
  RankPart(const LearningTask& task, RankRows rows, const std::vector<Device>& devices);
  /// For mini-batches.
  RankPart(Group group, const std::vector<Device>& devices);

  const RankRows& rows() const { return scope_.rows(); }
  Device device() const { return rows().group.device(); }  ///< of this rank
  bool of_batches() const { return rows().of_batches; }    ///< the following are for whole graphs
  const Graph& graph() const { return graph_; }            ///< the rank's part
  /// This rank's rows of the task's features, in `dtype`; of those that stay in a file, only these are read.
  Features features_of(const LearningTask& task, DType dtype) const;
  /// This rank's rows of the features, or of a tensor [N, ...], of all nodes.
  Features rows_of(const Features& all) const;
  Tensor rows_of(const Tensor& all) const;
  /// int32: those of the nodes `index` that are this rank's, by their places in its rows.
  Tensor places_of(const Tensor& index) const;
  /// [N, ...] on all ranks, of every rank's rows.
  Tensor gather(const Tensor& x) const { return rows().gather(x); }
  /// Whether any rank says so.
  bool any(bool value) const { return sum(int64_t{value}) > 0; }
  /// Of all ranks' counts.
  int64_t sum(int64_t count) const;
  /// "4 ranks on cuda:0, cuda:1".
  const std::string& describe() const { return places_; }

 private:
  RankScope scope_;
  std::string places_;
  Graph graph_;
};

/// Calls train(run) with the run of the task that make(settings) makes, on its device or, with --devices, for
/// each rank in a thread with a run of its own, or as the rank of this process where mpirun or srun started
/// several: these compute one training together, of which the first rank writes what is written.
void on_ranks(const Settings& settings, const std::function<LearningTask(const Settings&)>& make,
              const std::function<void(Run&)>& train);

}  // namespace adj::training
