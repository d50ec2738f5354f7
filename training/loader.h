#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/graph/sample/neighbor_sampler.h>
#include <adjoint/training/batches.h>
#include <adjoint/training/options.h>

// Mini-batch loaders for --loader. A new one takes a file NAME_loader.cpp here, a line below, and its name in
// the programs that offer it.

namespace adj::training {

class Run;
struct Settings;

/// A mini-batch loader of the programs: options, checks and batches.
class LoaderChoice {
 public:
  virtual ~LoaderChoice() = default;
  virtual std::string name() const = 0;  ///< "neighbor"
  /// Its own options, bound to this object.
  virtual OptionList options() = 0;
  /// Throws UsageError for options that are out of range or conflict.
  virtual void check(const Settings& all) const = 0;
  /// Throws DataError if the dataset, read from `file`, lacks something.
  virtual void check_data(const Dataset& /*data*/, const std::string& /*file*/) const {}
  /// Whether it draws edges by their weights.
  virtual bool draws_by_weight() const { return false; }
  /// Adds what the loader needs to the dataset on the CPU.
  virtual void prepare(Dataset& /*data*/) const {}
  /// The batches of the current run.
  virtual std::unique_ptr<Batches<NodeBatch>> batches(const Run& run, models::NodeModel& model) const = 0;
};

/// What a fan-out bounds: the in-edges of a node, or those of each relation.
enum class SamplingUnit : uint8_t { node, relation };
constexpr auto names_of(SamplingUnit) { return std::array{"node", "relation"}; }  ///< on command lines

/// Sampled neighbourhoods (GraphSAGE, Hamilton et al. 2017).
class NeighborLoading : public LoaderChoice {
 public:
  std::string name() const override { return "neighbor"; }
  OptionList options() override;
  void check(const Settings& all) const override;
  void check_data(const Dataset& data, const std::string& file) const override;
  bool draws_by_weight() const override { return weighted_; }
  std::unique_ptr<Batches<NodeBatch>> batches(const Run& run, models::NodeModel& model) const override;
  /// Sampling for a model of `layers` layers.
  NeighborSampling sampling(int64_t layers) const;
  /// For the run's model: blocks have weights only if it takes them.
  NeighborSampling sampling(const Run& run) const;

 private:
  std::string fanouts_ = "10";  // in-edges sampled per node and hop, from the seeds outwards
  SamplingUnit per_ = SamplingUnit::node;
  bool replace_ = false, labor_ = false, weighted_ = false;
};

/// --fanouts, as "15,10,5". Throws UsageError.
std::vector<int64_t> fanouts_of(const std::string& text);

std::shared_ptr<LoaderChoice> neighbor_loader();  ///< a NeighborLoading
/// METIS clusters (Cluster-GCN, Chiang et al. 2019).
std::shared_ptr<LoaderChoice> cluster_loader();
/// Random subgraphs (GraphSAINT, Zeng et al. 2020).
std::shared_ptr<LoaderChoice> saint_loader();

/// Sets the dataset's partition into clusters: `parts` by METIS; 0: the dataset's own, else parts of some
/// hundred nodes.
void partition_for_clusters(Dataset& data, int64_t parts);

}  // namespace adj::training
