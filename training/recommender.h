#pragma once

#include <adjoint/data/interactions.h>
#include <adjoint/models/checkpoint.h>
#include <adjoint/training/top_items.h>

#include <span>
#include <string>
#include <vector>

namespace adj::training {

/// A trained model of train_recommend: names, interactions, and the vectors whose dot products are scores.
struct Recommender {
  Interactions data;  ///< of the training, without times
  Tensor vectors;     ///< [users + items, width], of the best epoch
  std::string name;   ///< "LightGCN 500 users, …"
};

/// Puts names and interactions into a checkpoint.
void save_interactions(models::Checkpoint& checkpoint, const Interactions& data);
/// Whether the file is a checkpoint of train_recommend. Throws DataError if it is no checkpoint.
bool is_recommender(const std::string& path);
/// Reads a checkpoint of train_recommend. Throws DataError naming the file and what is missing or wrong.
Recommender load_recommender(const std::string& path, Device device = Device::cpu());

/// Other interactions in a model's numbers of users and items.
struct MatchedInteractions {
  std::vector<int32_t> users;  ///< number of each user
  Tensor pairs;                ///< int32 [*,2], of all parts
};
/// Matched by name. Throws DataError naming `path` and the first name that the model does not know.
MatchedInteractions match_interactions(const Recommender& model, const Interactions& other,
                                       const std::string& path, const std::string& origin);

/// Writes the table user, item, rank, score of the k best items for each of `users` (numbers in `data`), by
/// name, without those in `known`: .csv or .jsonl by the ending of `path`. Users without an interaction in
/// training are passed over, which a message says, naming some.
void write_top_items(const std::string& path, const Interactions& data, const Tensor& vectors,
                     std::span<const int32_t> users, const UserItems& known, int64_t k,
                     bool escape_formulas = false);

}  // namespace adj::training
