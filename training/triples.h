#pragma once

#include <adjoint/training/embedding_run.h>
#include <adjoint/training/triple_ranks.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Training of knowledge-graph embeddings (train_kge).

namespace adj::training {

/// What a triple's loss is over: all entities, for a triple (1vsAll) or for all tails of a query (KvsAll), or
/// its own and some that are drawn. The first two have reciprocal relations: heads are the tails of relations
/// of their own.
enum class TripleTraining : uint8_t { one_vs_all, k_vs_all, negatives };
constexpr auto names_of(TripleTraining) {
  return std::array{"1vsall", "kvsall", "negatives"};
}  ///< in options

/// Powers of the numbers of a batch that are added to its loss: of all vectors, the absolute values cubed
/// (N3; Lacroix et al. 2018) or squared (L2), or the squares of entities and queries (DURA; Zhang et al.
/// 2020).
enum class TriplePenalty : uint8_t { none, l2, n3, dura };
constexpr auto names_of(TriplePenalty) { return std::array{"none", "l2", "n3", "dura"}; }  ///< in options

/// Weights of the triples in a loss with drawn entities: all alike, or frequency_weights().
enum class TripleWeights : uint8_t { uniform, frequency };
constexpr auto names_of(TripleWeights) { return std::array{"uniform", "frequency"}; }  ///< in options

/// Optimizers with an update of single rows.
enum class TripleOptimizer : uint8_t { adagrad, adam };
constexpr auto names_of(TripleOptimizer) { return std::array{"adagrad", "adam"}; }  ///< in options

/// Options of train_kge. What is absent, or not set, is the model's usual value (complete()); `epochs` of
/// drawn negatives are as many as have about kUsualSteps, which the data decide.
struct TripleOptions : EmbeddingOptions {
  static constexpr int64_t kUnset = std::numeric_limits<int64_t>::min();  ///< of numbers without a value
  static constexpr int64_t kUsualSteps = 80'000;     ///< of all epochs, if these are not set
  static constexpr int64_t kMostUsualEpochs = 1000;  ///< likewise

  std::string data;                                ///< path of the dataset
  double val = 0.05;                               ///< share that validates, of a file without splits
  double test = 0.05;                              ///< share that tests, likewise
  TripleModel model = TripleModel::complex;        ///< how a triple is scored
  std::optional<TripleTraining> training;          ///< what the loss is over
  std::optional<TripleLoss> loss;                  ///< not bce for 1vsAll
  TripleWeights weights = TripleWeights::uniform;  ///< of triples with drawn entities
  std::optional<TriplePenalty> penalty;            ///< of the vectors of a batch
  std::optional<TripleOptimizer> optimizer;        ///< of entities and relations
  std::optional<ScheduleKind> schedule;            ///< none, linear or cosine
  int64_t width = kUnset;                          ///< numbers of an entity
  int64_t norm = 1;                                ///< of TransE
  int64_t negatives = kUnset;                      ///< entities drawn for a batch
  int64_t batch_size = kUnset;                     ///< triples of a step
  int64_t epochs = kUnset;                         ///< passes over the triples
  double lr = double(kUnset);                      ///< learning rate
  double margin = double(kUnset);                  ///< DrawnLossRule::margin
  double temperature = double(kUnset);             ///< DrawnLossRule::temperature
  double penalty_weight = double(kUnset);          ///< factor of the penalty
  double dropout = 0.0;                            ///< of the entities in queries
  double deviation = double(kUnset);               ///< of the initial numbers
  bool reciprocal = false;                         ///< also with drawn entities
  std::string relation_embeddings;                 ///< file of relations' vectors; `embeddings` are entities'
  std::string predict;                             ///< file of queries

  /// Bound to this object, by headings of --help.
  std::vector<Options::Group> groups();
  /// Sets the model's usual values. Throws UsageError for options out of range or in conflict.
  void complete();
};

/// The triples of --data, split if they have no split; says what is left out, and what training does not see.
/// Throws DataError.
Triples load_triples(const TripleOptions& options);
/// Name, counts and contents: a checkpoint belongs to these triples.
std::string triple_fingerprint(const Triples& data);

/// A batch on the device, as kernels::TripleBatchArgs has it.
struct TripleBatch {
  Tensor number;    ///< of the triples, int32 [B]
  Tensor relation;  ///< int32 [B]
  Tensor entity;    ///< heads, tails and drawn ones, int32 [2 B + K]
};

/// Everything of a training but its loop. An epoch has the triples in random order.
class TripleRun : public EmbeddingRun {
 public:
  /// `options` are complete. Throws DataError for a file that does not fit them.
  explicit TripleRun(const TripleOptions& options);

  using EmbeddingRun::steps;
  /// The next batch of the epoch. For a captured step, as the next two.
  const TripleBatch& next_batch();
  /// The loss of a batch with its penalty.
  Var loss(const TripleBatch& batch);
  /// A step of the optimizer, after backward().
  void update(const TripleBatch& batch);

  const Triples& data() const { return data_; }                    ///< with its split
  const models::TripleEmbedding& model() const { return model_; }  ///< the best, after the last epoch
  const TripleRanks& test() const { return test_; }                ///< after the last epoch
  /// Writes --embeddings and --relation-embeddings.
  void write_vectors() const;

 private:
  Var loss_of_all(const TripleBatch& batch);
  Var loss_of_drawn(const TripleBatch& batch);
  Var penalty(const Var& entities, const Var& relations, const Var& queries) const;
  void for_options(const Visit& visit) const override { for_each(o_, visit); }
  std::string fingerprint() const override { return triple_fingerprint(data_); }
  void begin_epoch() override;
  std::optional<double> validate() override;
  void evaluate() override;
  void write_row(optim::MetricsFile& file) const override;
  std::string progress_note() const override;
  void print() const override;
  std::string json() const override;

  TripleOptions o_;
  Triples data_;
  nn::Model<models::TripleEmbedding> model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  TripleRanking val_ranks_, test_ranks_;
  optim::Schedule schedule_;  // null: a constant rate

  Tensor triples_, order_, position_;  // of training, with reciprocals, on the device
  EntityTargets targets_;              // of them, for losses over all entities
  TripleBatch batch_;
  Tensor weights_, batch_weight_;               // float32 [N,1] and of the batch; absent: all alike
  Tensor entity_gradient_, relation_gradient_;  // of a batch's rows
  TripleRanks val_, test_;
};

}  // namespace adj::training
