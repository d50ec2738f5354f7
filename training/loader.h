#pragma once

#include "epochs.h"
#include "options.h"
#include <adjoint/graph/sample/neighbor_sampler.h>

// Ways of mini-batches that --loader may name. A new one is a file NAME_loader.cpp here, its line below, and
// its name in the programs that offer it.

namespace adj::training {

class Run;

/// How a program is told of a loader, and what trains with it.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual std::string name() const = 0;  ///< "neighbor"
  /// Its own options, bound to this object.
  virtual OptionList options() = 0;
  /// Throws UsageError where they are out of range or do not go together.
  virtual void check(const Options& all) const = 0;
  /// Throws DataError where the dataset, read from `file`, lacks something.
  virtual void check_data(const Dataset& /*data*/, const std::string& /*file*/) const {}
  /// Adds to the dataset, on the CPU, what the loader needs.
  virtual void prepare(Dataset& /*data*/) const {}
  /// `step` for each batch of each epoch of the run that has begun.
  virtual std::unique_ptr<Epochs> epochs(const Run& run, models::NodeModel& model, NodeStep step) const = 0;
};

/// Sampled neighbourhoods (GraphSAGE, Hamilton et al. 2017).
class NeighborLoading : public Loader {
 public:
  std::string name() const override { return "neighbor"; }
  OptionList options() override;
  void check(const Options& all) const override;
  void check_data(const Dataset& data, const std::string& file) const override;
  std::unique_ptr<Epochs> epochs(const Run& run, models::NodeModel& model, NodeStep step) const override;
  /// For a model of so many layers.
  NeighborSampling sampling(int64_t layers) const;

 private:
  std::string fanouts_ = "10";  // in-edges a node keeps of each hop, from the seeds outwards
  bool replace_ = false, labor_ = false, weighted_ = false;
};

/// --fanouts, as "15,10,5". Throws UsageError.
std::vector<int64_t> fanouts_of(const std::string& text);

std::shared_ptr<Loader> neighbor_loader();
/// Clusters of METIS's (Cluster-GCN, Chiang et al. 2019).
std::shared_ptr<Loader> cluster_loader();
/// Random subgraphs (GraphSAINT, Zeng et al. 2020).
std::shared_ptr<Loader> saint_loader();

/// Gives the dataset the partition that clusters are made of: `parts` by METIS, of 0 its own, else parts of
/// some hundred nodes.
void partition_for_clusters(Dataset& data, int64_t parts);

}  // namespace adj::training
