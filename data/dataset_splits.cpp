#include <adjoint/data/detail/dataset_reader.h>

#include <algorithm>

namespace adj::detail {

namespace {

constexpr std::string_view kParts[] = {"", "train", "val", "test"};

std::string path_of(const std::string& group, size_t part) {
  return fmt::format("{}/{}", group, kParts[part]);
}

}  // namespace

/// splits/1, splits/2, … follow splits/train.
void DatasetReader::read_splits() {
  const auto any_in = [&](const std::string& group) {
    return file_.has(group + "/train") || file_.has(group + "/val") || file_.has(group + "/test");
  };
  size_t count = any_in("splits") ? 1 : 0;
  for (const std::string& name : file_.children("splits")) {
    const bool number =
        name.size() < 7 && name[0] != '0' && name.find_first_not_of("0123456789") == std::string::npos;
    if (number && any_in("splits/" + name)) count = std::max(count, std::stoul(name) + 1);
  }
  size_t absent = 0;
  bool all_sound = members().has_value();
  for (size_t k = 0; k < count; ++k) {
    const std::string group = k == 0 ? "splits" : fmt::format("splits/{}", k);
    if (any_in(group) || ++absent <= Problems::kShown) data_.splits.push_back(read_split(group));
    for (size_t part : {1, 2, 3}) all_sound = all_sound && sound({path_of(group, part)});
  }
  if (absent > Problems::kShown)
    problems_.say("splits", "{} of the split numbers below {} are missing, expected consecutive numbers",
                  absent, count);
  if (!all_sound) data_.splits.clear();
  data_.use_first_split();
}

Split DatasetReader::read_split(const std::string& group) {
  std::vector<uint8_t> part_of(static_cast<size_t>(members().value_or(0)), 0);
  Split split;
  split.train = read_part(group, 1, part_of);
  split.val = read_part(group, 2, part_of);
  split.test = read_part(group, 3, part_of);
  return split;
}

Tensor DatasetReader::read_part(const std::string& group, size_t part, std::vector<uint8_t>& part_of) {
  const std::string path = path_of(group, part);
  const std::optional<int64_t> limit = members();
  const Tensor index = values_.selection(path, limit.value_or(kAny), limit.value_or(kLargest));
  if (!index) return {};
  if (index.numel() == 0) problems_.say(path, "empty, expected at least one index");
  if (!limit) return index;
  const Tensor& y = data_.labels();
  const bool labels = data_.unlabelled > 0 && y.size(0) == *limit;
  const int32_t* values = index.data<int32_t>();
  WrongValues repeated(problems_, path), unlabelled(problems_, path);
  for (int64_t k = 0; k < index.numel(); ++k) {
    const int32_t i = values[k];
    if (i < 0 || i >= *limit) continue;  // already reported
    uint8_t& seen = part_of[static_cast<size_t>(i)];
    if (seen != 0)
      repeated.found(k, [&] {
        return fmt::format("index {} at position {} is already in {}, expected once in a split", i, k,
                           kParts[seen]);
      });
    seen = static_cast<uint8_t>(part);
    if (labels && !is_labelled(y, i))
      unlabelled.found(k, [&] { return fmt::format("index {} at position {} has no label", i, k); });
  }
  repeated.say();
  unlabelled.say();
  return index;
}

}  // namespace adj::detail
