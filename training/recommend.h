#pragma once

#include <adjoint/models/light_gcn.h>
#include <adjoint/training/embedding_run.h>
#include <adjoint/training/top_items.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

// Training of LightGCN on interactions of users and items (train_recommend).

namespace adj::training {

/// The metric of lists that chooses the best epoch, a member of nn::TopKMetrics.
enum class TopKMetric : uint8_t { recall, precision, f1, map, ndcg, mrr, hit_ratio };
constexpr auto names_of(TopKMetric) {
  return std::array{"recall", "precision", "f1", "map", "ndcg", "mrr", "hit-ratio"};
}  ///< in options
double value_of(TopKMetric metric, const nn::TopKMetrics& metrics);  ///< that member

/// Options of train_recommend. The defaults are those of He et al. (2020), but for epochs.
struct RecommendOptions : EmbeddingOptions {
  std::string data;   ///< path of the dataset
  std::string edges;  ///< type of edges; empty: the only one that can be
  std::optional<InteractionSplit>
      split_by;                            ///< of a file without splits; absent: by time if edges have times
  double val = 0.1;                        ///< share of a user's interactions, likewise
  double test = 0.1;                       ///< likewise
  int64_t width = 64;                      ///< LightGCNOptions::width
  int64_t layers = 3;                      ///< LightGCNOptions::layers
  std::string alphas;                      ///< LightGCNOptions::alphas, between commas
  int64_t batch_size = 2048;               ///< interactions of a step
  int64_t epochs = 200;                    ///< passes over the interactions
  double lr = 1e-3;                        ///< of Adam
  double penalty = 1e-4;                   ///< LightGCN::loss()
  int64_t k = 20;                          ///< items of a list that is measured
  TopKMetric metric = TopKMetric::recall;  ///< chooses the best epoch
  std::string item_embeddings;             ///< file of items' vectors; `embeddings` are users'

  /// Bound to this object, by headings of --help.
  std::vector<Options::Group> groups();
  /// Throws UsageError for options out of range or in conflict.
  void complete();
  models::LightGCNOptions model() const;  ///< throws UsageError for alphas that are no numbers, or too few
};

/// The interactions of --data, split if they have no split; says what is left out, and what training does not
/// see. Throws DataError.
Interactions load_interactions(const RecommendOptions& options);
/// Name, counts and contents: a checkpoint belongs to these interactions.
std::string interaction_fingerprint(const Interactions& data);

/// Everything of a training but its loop. An epoch has the interactions in random order, and for each an item
/// that its user does not have in training.
class RecommendRun : public EmbeddingRun {
 public:
  /// `options` are complete. Throws DataError for a file that does not fit them.
  explicit RecommendRun(const RecommendOptions& options);

  /// The next batch of the epoch; false behind the last.
  bool next_batch();
  Var loss() const { return model_.loss(graph_, batch_, o_.penalty); }  ///< of the batch
  void update() { optimizer_->step(); }                                 ///< after backward()

  const Interactions& data() const { return data_; }        ///< with its split
  const models::LightGCN& model() const { return model_; }  ///< the best, after the last epoch
  const nn::TopKMetrics& test() const { return test_; }     ///< after the last epoch
  /// Writes --embeddings, --item-embeddings and --out.
  void write_vectors() const;

 private:
  void for_options(const Visit& visit) const override { for_each(o_, visit); }
  std::string fingerprint() const override { return interaction_fingerprint(data_); }
  void begin_epoch() override;
  std::optional<double> validate() override;
  void evaluate() override;
  void write_row(optim::MetricsFile& file) const override;
  std::string progress_note() const override;
  void print() const override;
  std::string json() const override;
  Tensor vectors() const;  ///< the model's results

  RecommendOptions o_;
  Interactions data_;
  Graph graph_;        // of training, on the device
  Relation of_users_;  // items to users, for draws; on the CPU
  UserItems trained_, val_items_, test_items_, before_test_;
  std::vector<int32_t> popularity_;
  nn::Model<models::LightGCN> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<int32_t> sample_users_, sample_items_;  // interactions whose users lack an item
  Tensor rows_, batch_;                               // of an epoch [steps, 3 B], of a step [3 B]
  int64_t step_ = 0;
  nn::TopKMetrics val_, test_;
};

}  // namespace adj::training
