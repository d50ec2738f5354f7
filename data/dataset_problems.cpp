#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_problems.h>

#include <algorithm>

namespace adj::detail {

void Problems::keep(std::string_view place, std::string line) {
  places_.emplace(place);
  // A dataset's read error recurs for every reader of it; report it once.
  if (!lines_.insert(line).second) return;
  if (kept_->size() < kMost) {
    kept_->push_back(std::move(line));
  } else {
    ++left_out_;
  }
}

void Problems::finish() {
  if (left_out_ > 0)
    kept_->push_back(fmt::format("{}: {} more problems, expected none", excerpt(file_.file()), left_out_));
}

void WrongValues::insert(int64_t position, std::string text) {
  const auto after = std::upper_bound(first_.begin(), first_.end(), position,
                                      [](int64_t key, const auto& other) { return key < other.first; });
  first_.insert(after, {position, std::move(text)});
  if (first_.size() > Problems::kShown) first_.pop_back();
}

void WrongValues::say() {
  for (const auto& [position, text] : first_) problems_.say(place_, "{}", text);
  if (count_ > first_.size())
    problems_.say(place_, "{} more such values, {} in all", count_ - first_.size(), count_);
  first_.clear();
  count_ = 0;
}

}  // namespace adj::detail
