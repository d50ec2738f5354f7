#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/recommend.h>
#include <adjoint/training/recommender.h>

#include <numeric>

namespace adj::training {

namespace {

/// Of a part, by the names in --json.
std::vector<std::pair<const char*, double>> values_of(const nn::TopKMetrics& m) {
  return {{"recall", m.recall},
          {"precision", m.precision},
          {"f1", m.f1},
          {"map", m.map},
          {"ndcg", m.ndcg},
          {"mrr", m.mrr},
          {"hit_ratio", m.hit_ratio},
          {"coverage", m.coverage},
          {"personalization", m.personalization},
          {"popularity", m.popularity}};
}

}  // namespace

void RecommendRun::write_row(optim::MetricsFile& file) const {
  file.add({static_cast<double>(epoch()), train_loss(), val_.recall, val_.precision, val_.ndcg, val_.mrr,
            val_.hit_ratio, val_.coverage});
}

std::string RecommendRun::progress_note() const {
  return fmt::format("val {}@{} {:.4f}", name_of(o_.metric), o_.k, value_of(o_.metric, val_));
}

void RecommendRun::print() const {
  if (best_epoch() >= 0)
    fmt::print("validation {}@{} {:.4f} after {} of {} epochs, {:.3g} ms each\n", name_of(o_.metric), o_.k,
               value_of(o_.metric, val_), best_epoch(), epoch(), epoch_ms());
  else
    fmt::print("{} epochs, {:.3g} ms each\n", epoch(), epoch_ms());
  fmt::print("test of {} users ({} without items to test passed over), lists of {} items:\n", test_.users,
             data_.num_users() - test_.users, o_.k);
  std::string line;
  for (const auto& [name, value] : values_of(test_)) line += fmt::format("  {} {:.4f}", name, value);
  fmt::print("{}\n", line.substr(2));
}

std::string RecommendRun::json() const {
  std::string text = fmt::format(
      R"({{"app": "train_recommend", "dataset": {}, "model": "lightgcn", "device": {}, "seed": {}, "epochs": {}, )"
      R"("metric": "{}@{}", "train_loss": {}, "val_acc": {}, "test_acc": {}, )",
      json_text(data_.name), json_text(device().str()), o_.seed, epoch(), name_of(o_.metric), o_.k,
      train_loss(), value_of(o_.metric, val_), value_of(o_.metric, test_));
  for (const auto& [part, metrics] : {std::pair("val", &val_), {"test", &test_}}) {
    for (const auto& [name, value] : values_of(*metrics))
      text += fmt::format(R"("{}_{}": {}, )", part, name, value);
    text += fmt::format(R"("{}_users": {}, )", part, metrics->users);
  }
  return text + json_end();
}

void RecommendRun::write_vectors() const {
  if (o_.embeddings.empty() && o_.item_embeddings.empty() && o_.out.empty()) return;
  const Tensor x = vectors(), host = x.to(Device::cpu());
  const int64_t users = data_.num_users();
  if (!o_.embeddings.empty())
    write_embeddings(o_.embeddings, "train_recommend", detail::named_rows(data_.name, data_.users),
                     host.rows(0, users), false);
  if (!o_.item_embeddings.empty())
    write_embeddings(o_.item_embeddings, "train_recommend", detail::named_rows(data_.name, data_.items),
                     host.rows(users, host.size(0)), false);
  if (o_.out.empty()) return;
  std::vector<int32_t> all(data_.users.size());
  std::iota(all.begin(), all.end(), 0);
  write_top_items(o_.out, data_, x, all, UserItems(users, {data_.train, data_.val, data_.test}), o_.top);
}

}  // namespace adj::training
