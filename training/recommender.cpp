#include <adjoint/core/log.h>
#include <adjoint/core/option_check.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/detail/table_file.h>
#include <adjoint/models/light_gcn.h>
#include <adjoint/training/recommend.h>
#include <adjoint/training/recommender.h>

#include <algorithm>
#include <map>

namespace adj::training {

namespace {

constexpr const char* kProgram = "train_recommend";

/// Distinct names as save_interactions() puts them.
std::vector<std::string> names_in(const models::Checkpoint& checkpoint, const std::string& thing) {
  const std::string place = "interactions." + thing;
  const Tensor &bytes = checkpoint.tensor(place), &offsets = checkpoint.tensor(place + "_offsets");
  const auto wrong = [&](const char* what) {
    data_fail("{}: tensors/{}_offsets: {}", checkpoint.path, place, what);
  };
  if (bytes.dtype() != DType::u8 || bytes.dims() != 1 || offsets.dtype() != DType::i64 ||
      offsets.dims() != 1 || offsets.numel() < 2)
    wrong("expected int64 offsets of one name or more");
  const std::vector<int64_t> bounds = offsets.to_vector<int64_t>();
  if (bounds.front() != 0 || bounds.back() != bytes.numel() || !std::ranges::is_sorted(bounds))
    wrong("expected to ascend from 0 to the number of bytes");
  std::vector<std::string> names = detail::unpacked({bytes, offsets});
  if (const std::string problem = detail::problem_of_names(names, thing); !problem.empty())
    data_fail("{}: tensors/{}: {}", checkpoint.path, place, problem);
  return names;
}

/// int32 [*,2] of numbers in range; empty if the part is.
Tensor pairs_in(const models::Checkpoint& checkpoint, const std::string& part, const Interactions& data) {
  const std::string place = "interactions." + part;
  if (!checkpoint.tensors.contains(place)) return Tensor::empty({0, 2}, DType::i32);
  const Tensor& pairs = checkpoint.tensor(place);
  if (pairs.dtype() != DType::i32 || pairs.dims() != 2 || pairs.size(1) != 2)
    data_fail("{}: tensors/{}: {}, expected int32 [*, 2]", checkpoint.path, place, pairs.str());
  const std::vector<int32_t> numbers = pairs.to_vector<int32_t>();
  for (size_t k = 0; k < numbers.size(); ++k)
    if (const int64_t count = k % 2 == 0 ? data.num_users() : data.num_items();
        numbers[k] < 0 || numbers[k] >= count)
      data_fail("{}: tensors/{}: number {} in row {}, expected 0 to {}", checkpoint.path, place, numbers[k],
                k / 2, count - 1);
  return pairs;
}

}  // namespace

void save_interactions(models::Checkpoint& checkpoint, const Interactions& data) {
  checkpoint.facts["interactions.name"] = data.name;
  for (const auto& [fact, text] :
       {std::pair("user", &data.type.src), {"edge", &data.type.name}, {"item", &data.type.dst}})
    checkpoint.facts[fmt::format("interactions.type.{}", fact)] = *text;
  for (const auto& [thing, names] : {std::pair("user", &data.users), {"item", &data.items}}) {
    const detail::PackedNames packed = detail::packed(*names);
    checkpoint.tensors[fmt::format("interactions.{}", thing)] = packed.bytes;
    checkpoint.tensors[fmt::format("interactions.{}_offsets", thing)] = packed.offsets;
  }
  for (const auto& [part, pairs] :
       {std::pair("train", &data.train), {"val", &data.val}, {"test", &data.test}})
    if (pairs->numel() > 0) checkpoint.tensors[fmt::format("interactions.{}", part)] = *pairs;
}

bool is_recommender(const std::string& path) { return models::program_of(path) == kProgram; }

Recommender load_recommender(const std::string& path, Device device) {
  const models::Checkpoint checkpoint = models::load_checkpoint(path, kProgram);
  Recommender found;
  Interactions& data = found.data;
  data.name = checkpoint.text("interactions.name");
  data.type = {checkpoint.text("interactions.type.user"), checkpoint.text("interactions.type.edge"),
               checkpoint.text("interactions.type.item")};
  data.users = names_in(checkpoint, "user");
  data.items = names_in(checkpoint, "item");
  data.train = pairs_in(checkpoint, "train", data);
  data.val = pairs_in(checkpoint, "val", data);
  data.test = pairs_in(checkpoint, "test", data);
  RecommendOptions options;
  options.width = checkpoint.integer("option.width", 1, 1 << 20);
  options.layers = checkpoint.integer("option.layers", 0, 100);
  options.alphas = checkpoint.text("option.alphas");
  nn::Model<models::LightGCN> model(data.num_users(), data.num_items(), options.model());
  models::load_weights(model, checkpoint, checkpoint.integer("best_epoch") >= 0 ? "best." : "model.");
  model.to(device);
  const NoGrad no_grad;
  found.vectors = model(interaction_graph(data.train, data.num_users(), data.num_items()).to(device)).value();
  found.name = model.describe();
  return found;
}

MatchedInteractions match_interactions(const Recommender& model, const Interactions& other,
                                       const std::string& path, const std::string& origin) {
  const auto numbers_of = [&](const std::vector<std::string>& names, const std::vector<std::string>& known,
                              const std::string& thing) {
    std::map<std::string_view, int32_t> numbers;
    for (const std::string& name : known) numbers.emplace(name, static_cast<int32_t>(numbers.size()));
    std::vector<int32_t> found;
    for (const std::string& name : names) {
      const auto number = numbers.find(name);
      if (number == numbers.end())
        data_fail("{}: {} '{}' is none of the {} that {} was trained on{}", excerpt(path), thing,
                  excerpt(name), known.size(), excerpt(origin),
                  known.size() <= 10000 ? did_you_mean(name, known) : "");
      found.push_back(number->second);
    }
    return found;
  };
  MatchedInteractions found;
  found.users = numbers_of(other.users, model.data.users, "user");
  const std::vector<int32_t> items = numbers_of(other.items, model.data.items, "item");
  std::vector<int32_t> pairs;
  for (const Tensor* part : {&other.train, &other.val, &other.test}) {
    const std::vector<int32_t> numbers = part->to_vector<int32_t>();
    for (size_t k = 0; k < numbers.size(); k += 2)
      pairs.insert(pairs.end(), {found.users[static_cast<size_t>(numbers[k])],
                                 items[static_cast<size_t>(numbers[k + 1])]});
  }
  found.pairs = Tensor::from(pairs, Shape{std::ssize(pairs) / 2, 2});
  return found;
}

void write_top_items(const std::string& path, const Interactions& data, const Tensor& vectors,
                     std::span<const int32_t> users, const UserItems& known, int64_t k,
                     bool escape_formulas) {
  const UserItems trained(data.num_users(), {data.train});
  std::vector<int32_t> chosen;
  std::vector<std::string> unknown;
  for (const int32_t user : users) {
    if (!trained.of_user(user).empty())
      chosen.push_back(user);
    else
      unknown.push_back(excerpt(data.users[static_cast<size_t>(user)]));
  }
  if (!unknown.empty())
    log_warning("{}: {} users without an interaction in training are passed over: {}", printable(path),
                unknown.size(), adj::detail::listed(unknown, 5));
  struct Row {
    int32_t user, item;
    int64_t rank;
    float score;
  };
  std::vector<Row> rows;
  int64_t left_out = 0;
  top_items(vectors, chosen, known, k, [&](int64_t first, const TopItems& lists) {
    const int64_t width = lists.items.size(1);
    const int32_t* item = lists.items.data<int32_t>();
    const float* score = lists.scores.data<float>();
    for (int64_t i = 0; i < lists.items.numel(); ++i)
      if (item[i] >= 0)
        rows.push_back({chosen[static_cast<size_t>(first + i / width)], item[i], i % width + 1, score[i]});
  });
  for (const int32_t user : chosen) left_out += std::ssize(known.of_user(user));
  const auto row = [&](int64_t i) -> const Row& { return rows[static_cast<size_t>(i)]; };
  const auto name = [](const std::vector<std::string>& names, int32_t number) {
    return std::string_view(names[static_cast<size_t>(number)]);
  };
  using adj::detail::Column;
  adj::detail::write_table(
      path,
      {Column::of_texts("user", [&](int64_t i) { return name(data.users, row(i).user); }),
       Column::of_texts("item", [&](int64_t i) { return name(data.items, row(i).item); }),
       Column::of_numbers("rank", [&](int64_t i) { return row(i).rank; }),
       Column::of_numbers("score", [&](int64_t i) { return row(i).score; })},
      std::ssize(rows), escape_formulas);
  log_info("{}: {} items for {} users; {} known interactions of theirs are left out", printable(path),
           rows.size(), chosen.size(), left_out);
}

}  // namespace adj::training
