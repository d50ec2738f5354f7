#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/training/recommend.h>
#include <adjoint/training/recommender.h>

#include <algorithm>

namespace adj::training {

namespace {

/// Column `column` of pairs.
std::vector<int32_t> column_of(const Tensor& pairs, size_t column) {
  const std::vector<int32_t> numbers = pairs.to_vector<int32_t>();
  std::vector<int32_t> found;
  for (size_t k = column; k < numbers.size(); k += 2) found.push_back(numbers[k]);
  return found;
}

}  // namespace

RecommendRun::RecommendRun(const RecommendOptions& options)
    : EmbeddingRun("train_recommend", options),
      o_(options),
      data_(load_interactions(o_)),
      graph_(interaction_graph(data_.train, data_.num_users(), data_.num_items()).to(device())),
      of_users_(Relation::from_coo(data_.num_items(), data_.num_users(),
                                   Tensor::from(column_of(data_.train, 1)),
                                   Tensor::from(column_of(data_.train, 0)))),
      trained_(data_.num_users(), {data_.train}),
      val_items_(data_.num_users(), {data_.val}),
      test_items_(data_.num_users(), {data_.test}),
      before_test_(data_.num_users(), {data_.train, data_.val}),
      popularity_(data_.items.size()),
      model_(data_.num_users(), data_.num_items(), o_.model()),
      optimizer_((model_.to(device()),
                  std::make_unique<optim::Adam>(model_.parameters(), optim::AdamOptions{.lr = o_.lr}))) {
  const std::vector<int32_t> users = column_of(data_.train, 0), items = column_of(data_.train, 1);
  for (const int32_t item : items) ++popularity_[static_cast<size_t>(item)];
  for (size_t k = 0; k < users.size(); ++k) {
    if (std::ssize(trained_.of_user(users[k])) == data_.num_items()) continue;
    sample_users_.push_back(users[k]);
    sample_items_.push_back(items[k]);
  }
  if (sample_users_.empty())
    data_fail("{}: every user has every item in training, expected items that a user does not have", o_.data);
  if (sample_users_.size() < users.size())
    log_info("{} interactions of users who have every item in training are in no batch",
             users.size() - sample_users_.size());
  const int64_t batch = std::min(o_.batch_size, std::ssize(sample_users_));
  batch_ = Tensor::empty({3 * batch}, DType::i32, device());
  prepare(model_, *optimizer_, o_.epochs, ceil_div(std::ssize(sample_users_), batch),
          {"epoch", "train_loss", "val_recall", "val_precision", "val_ndcg", "val_mrr", "val_hit_ratio",
           "val_coverage"});
  state().add([this](models::Checkpoint& checkpoint) { save_interactions(checkpoint, data_); },
              [](const models::Checkpoint&) {});
  log_info("{}: {}, {} interactions train, {} validate, {} test; {} steps an epoch", data_.name,
           model_.describe(), data_.train.size(0), data_.val.size(0), data_.test.size(0), steps());
}

Tensor RecommendRun::vectors() const {
  const NoGrad no_grad;
  return model_(graph_).value();
}

void RecommendRun::begin_epoch() {
  Generator generator = Generator(static_cast<uint64_t>(o_.seed)).split(static_cast<uint64_t>(epoch()));
  const std::vector<int32_t>
      order = random_permutation(std::ssize(sample_users_), generator).to_vector<int32_t>(),
      others = negative_sources(of_users_, Tensor::from(sample_users_), generator).to_vector<int32_t>();
  const int64_t batch = batch_.numel() / 3, all = std::ssize(order);
  const auto users = static_cast<int32_t>(data_.num_users());
  Tensor rows = Tensor::empty({steps(), 3 * batch}, DType::i32);
  int32_t* row = rows.mutable_data<int32_t>();
  for (int64_t k = 0; k < steps() * batch; ++k) {  // the last batch goes on at the beginning
    const auto number = static_cast<size_t>(order[static_cast<size_t>(k % all)]);
    int32_t* place = row + k / batch * 3 * batch + k % batch;
    place[0] = sample_users_[number];
    place[batch] = users + sample_items_[number];
    place[2 * batch] = users + others[number];
  }
  rows_ = rows.to(device());
  step_ = 0;
}

bool RecommendRun::next_batch() {
  if (step_ == steps()) return false;
  batch_.copy_(rows_.rows(step_, step_ + 1).reshape({batch_.numel()}));
  ++step_;
  return true;
}

std::optional<double> RecommendRun::validate() {
  if (data_.val.numel() == 0) return {};
  val_ = top_k_metrics(vectors(), val_items_, trained_, o_.k, popularity_);
  return value_of(o_.metric, val_);
}

void RecommendRun::evaluate() {
  const Tensor x = vectors();
  val_ = top_k_metrics(x, val_items_, trained_, o_.k, popularity_);
  test_ = top_k_metrics(x, test_items_, before_test_, o_.k, popularity_);
}

}  // namespace adj::training
