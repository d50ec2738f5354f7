#include <adjoint/core/log.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/sample/negative_sampling.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/training/detail/embeddings.h>
#include <adjoint/training/recommend.h>
#include <adjoint/training/recommender.h>

#include <algorithm>

namespace adj::training {

namespace {

/// Process settings before anything is drawn.
RecommendOptions applied(const RecommendOptions& o) {
  if (o.quiet) set_log_level(LogLevel::warning);
  if (o.threads > 0) set_num_threads(static_cast<int>(o.threads));
  manual_seed(static_cast<uint64_t>(o.seed));
  return o;
}

/// Column `column` of pairs.
std::vector<int32_t> column_of(const Tensor& pairs, size_t column) {
  const std::vector<int32_t> numbers = pairs.to_vector<int32_t>();
  std::vector<int32_t> found;
  for (size_t k = column; k < numbers.size(); k += 2) found.push_back(numbers[k]);
  return found;
}

}  // namespace

RecommendRun::RecommendRun(const RecommendOptions& options)
    : o_(applied(options)),
      new_folder_(o_.run_dir.empty() ? nullptr : reserve_run_folder(o_.run_dir, o_.resume)),
      device_(Device::parse(o_.device)),
      data_(load_interactions(o_)),
      graph_(interaction_graph(data_.train, data_.num_users(), data_.num_items()).to(device_)),
      of_users_(Relation::from_coo(data_.num_items(), data_.num_users(),
                                   Tensor::from(column_of(data_.train, 1)),
                                   Tensor::from(column_of(data_.train, 0)))),
      trained_(data_.num_users(), {data_.train}),
      val_items_(data_.num_users(), {data_.val}),
      test_items_(data_.num_users(), {data_.test}),
      before_test_(data_.num_users(), {data_.train, data_.val}),
      popularity_(data_.items.size()),
      model_(data_.num_users(), data_.num_items(), o_.model()),
      optimizer_((model_.to(device_),
                  std::make_unique<optim::Adam>(model_.parameters(), optim::AdamOptions{.lr = o_.lr}))),
      best_(model_, o_.patience),
      state_("train_recommend", model_, *optimizer_),
      finite_(device_) {
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
  steps_ = ceil_div(std::ssize(sample_users_), batch);
  progress_.emplace(o_.epochs);
  batch_ = Tensor::empty({3 * batch}, DType::i32, device_);
  loss_sum_ = Tensor::zeros({}, DType::f32, device_);
  if (!o_.metrics.empty())
    metrics_.emplace(
        o_.metrics, std::vector<std::string>{"epoch", "train_loss", "val_recall", "val_precision", "val_ndcg",
                                             "val_mrr", "val_hit_ratio", "val_coverage"});
  describe_state();
  log_info("{}: {}, {} interactions train, {} validate, {} test; {} steps an epoch", data_.name,
           model_.describe(), data_.train.size(0), data_.val.size(0), data_.test.size(0), steps_);
}

void RecommendRun::describe_state() {
  state_.require("dataset", interaction_fingerprint(data_));
  for (const Options::Group& group : o_.groups())
    for (const Option& option : group.options)
      if (option.decides && option.name != "data") state_.require("option." + option.name, option.text());
  state_.add(best_);
  if (metrics_) state_.add(*metrics_);
  state_.add(
      [this](models::Checkpoint& checkpoint) {
        checkpoint.set("train_loss", train_loss_);
        checkpoint.set("stopped", int64_t{stopped_});
        save_interactions(checkpoint, data_);
      },
      [this](const models::Checkpoint& checkpoint) {
        train_loss_ = checkpoint.number("train_loss");
        stopped_ = checkpoint.integer("stopped", 0, 1) != 0;
      });
}

Tensor RecommendRun::vectors() const {
  const NoGrad no_grad;
  return model_(graph_).value();
}

bool RecommendRun::next_epoch() {
  if (begun_) end_epoch();
  if (!begun_ && !o_.resume.empty()) {
    epoch_ = state_.resume(o_.resume);
    if (epoch_ > o_.epochs)
      data_fail("{}: --resume after {} epochs, expected at most --epochs {}", o_.resume, epoch_, o_.epochs);
    progress_->advance(epoch_);
  }
  if (!begun_ && !o_.run_dir.empty() && !folder_) {  // after all that may be refused
    folder_ = lock_run_folder(o_.run_dir);
    begin_run(o_.run_dir, summary(), o_.resume);
  }
  if (epoch_ >= o_.epochs || stopped_) {
    if (best_.best_epoch() >= 0) best_.restore();
    progress_->shorten(o_.epochs - epoch_);
    const Tensor x = vectors();
    val_ = top_k_metrics(x, val_items_, trained_, o_.k, popularity_);
    test_ = top_k_metrics(x, test_items_, before_test_, o_.k, popularity_);
    return false;
  }
  if (!begun_) watch_.start();
  begun_ = true;
  draw_epoch();
  return true;
}

void RecommendRun::draw_epoch() {
  Generator generator = Generator(static_cast<uint64_t>(o_.seed)).split(static_cast<uint64_t>(epoch_));
  const std::vector<int32_t>
      order = random_permutation(std::ssize(sample_users_), generator).to_vector<int32_t>(),
      others = negative_sources(of_users_, Tensor::from(sample_users_), generator).to_vector<int32_t>();
  const int64_t batch = batch_.numel() / 3, all = std::ssize(order);
  const auto users = static_cast<int32_t>(data_.num_users());
  Tensor rows = Tensor::empty({steps_, 3 * batch}, DType::i32);
  int32_t* row = rows.mutable_data<int32_t>();
  for (int64_t k = 0; k < steps_ * batch; ++k) {  // the last batch goes on at the beginning
    const auto number = static_cast<size_t>(order[static_cast<size_t>(k % all)]);
    int32_t* place = row + k / batch * 3 * batch + k % batch;
    place[0] = sample_users_[number];
    place[batch] = users + sample_items_[number];
    place[2 * batch] = users + others[number];
  }
  rows_ = rows.to(device_);
  step_ = 0;
  loss_sum_.zero_();
}

bool RecommendRun::next_batch() {
  if (step_ == steps_) return false;
  batch_.copy_(rows_.rows(step_, step_ + 1).reshape({batch_.numel()}));
  ++step_;
  return true;
}

void RecommendRun::add(const Tensor& loss) {
  kernels::linear_combination({.a = loss_sum_, .beta = 1.0, .b = loss, .y = loss_sum_});
  finite_.add(loss);
}

void RecommendRun::end_epoch() {
  ++epoch_;
  watch_.count();
  const bool last = epoch_ >= o_.epochs;
  if (epoch_ % o_.eval_every == 0 || last) {
    epoch_ms_.push_back(watch_.stop(device_));
    train_loss_ = loss_sum_.item() / static_cast<double>(steps_);
    if (!finite_.all_finite()) fail("epoch {}: the loss is not finite; a lower --lr may help", epoch_);
    optim::require_finite(model_, fmt::format("epoch {}", epoch_));
    if (data_.val.numel() > 0) {
      val_ = top_k_metrics(vectors(), val_items_, trained_, o_.k, popularity_);
      stopped_ = best_.observe(epoch_, value_of(o_.metric, val_)) && !last;
    }
    if (metrics_) {
      metrics_->add({static_cast<double>(epoch_), train_loss_, val_.recall, val_.precision, val_.ndcg,
                     val_.mrr, val_.hit_ratio, val_.coverage});
      metrics_->flush();
    }
    if (!o_.checkpoint.empty()) state_.save(o_.checkpoint, epoch_);
    progress_->note(fmt::format("loss {:.4f}  val {}@{} {:.4f}  best {:.4f}", train_loss_, name_of(o_.metric),
                                o_.k, value_of(o_.metric, val_), best_.best_metric()));
    watch_.start();
  }
  progress_->advance();
}

}  // namespace adj::training
