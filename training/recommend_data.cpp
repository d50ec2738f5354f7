#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/training/recommend.h>

#include <filesystem>

namespace adj::training {

namespace {

void say_what_is_passed_over(const Interactions& data, const std::string& path) {
  if (data.passed_over > 0)
    log_warning("{}: {} edges are in no part of the split and passed over", path, data.passed_over);
  if (data.repeated > 0)
    log_info("{}: {} edges repeat another of their user and item, which are kept once", path, data.repeated);
  if (data.trained > 0)
    log_warning("{}: {} edges to validate or test repeat one of an earlier part and are passed over", path,
                data.trained);
  if (data.weighted)
    log_info("{}: weights of edges are passed over, as every interaction counts alike", path);
}

void split(Interactions& data, const RecommendOptions& o, const std::string& path) {
  const bool timed = static_cast<bool>(data.times);
  if (o.split_by == InteractionSplit::time && !timed)
    data_fail("{}: edges {} have no times, --split-by time requires them (convert tables --time)", path,
              text_of(data.type));
  const InteractionSplit how = o.split_by.value_or(timed ? InteractionSplit::time : InteractionSplit::random);
  if (how == InteractionSplit::time) {
    int64_t without = 0;
    for (const int64_t time : data.times.to_vector<int64_t>()) without += time == ItemTable::kNoTime;
    if (without > 0) log_warning("{}: {} interactions without a time count as the earliest", path, without);
  }
  split_interactions(data, how, o.val, o.test, static_cast<uint64_t>(o.seed));
  log_info("{} has no split of edges: {} interactions train, {} validate, {} test, {}", path,
           data.train.size(0), data.val.size(0), data.test.size(0),
           how == InteractionSplit::time ? "of each user the latest, by time"
                                         : fmt::format("drawn for each user by --seed {}", o.seed));
}

/// Users and items that training does not see.
void say_what_is_new(const Interactions& data, const std::string& path) {
  std::vector<uint8_t> users(data.users.size()), items(data.items.size());
  const std::vector<int32_t> pairs = data.train.to_vector<int32_t>();
  for (size_t k = 0; k < pairs.size(); k += 2)
    users[static_cast<size_t>(pairs[k])] = items[static_cast<size_t>(pairs[k + 1])] = 1;
  for (const auto& [name, seen] : {std::pair("users", &users), {"items", &items}})
    if (const auto unseen = std::ranges::count(*seen, 0); unseen > 0)
      log_info("{}: {} of {} {} have no interaction to train on{}", path, unseen, seen->size(), name,
               seen == &users ? "; their scores mean nothing" : "");
}

}  // namespace

Interactions load_interactions(const RecommendOptions& o) {
  const std::string path = printable(o.data);
  Interactions data = interactions_of(load_typed_dataset(o.data), o.data, o.edges);
  if (data.name.empty()) data.name = std::filesystem::path(o.data).stem().string();
  const bool has_split = data.val.numel() + data.test.numel() > 0;
  if (has_split && o.split_by) usage_fail("--split-by: conflicts with the split that {} has", path);
  say_what_is_passed_over(data, path);
  if (!has_split)
    split(data, o, path);
  else if (data.val.numel() == 0)
    log_warning("{}: the split has nothing to validate, so the last epoch is taken", path);
  say_what_is_new(data, path);
  return data;
}

std::string interaction_fingerprint(const Interactions& data) {
  detail::ContentHash hash;
  for (const auto* names : {&data.users, &data.items})
    for (const std::string& name : *names) hash.add(std::string_view(name));
  for (const Tensor* part : {&data.train, &data.val, &data.test}) hash.add(*part);
  return fmt::format("{}: {} users, {} items, contents {:016x}", data.name, data.num_users(),
                     data.num_items(), hash.result());
}

}  // namespace adj::training
