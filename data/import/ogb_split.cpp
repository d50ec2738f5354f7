#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>

#include <fmt/format.h>

namespace adj::ogb {

namespace {

constexpr const char* kParts[] = {"", "train", "valid", "test"};

/// Folder of the requested split; empty if there are no splits.
std::filesystem::path choose(const std::filesystem::path& folder, const std::string& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_directory(error)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  const std::string all = excerpt(fmt::format("{}", fmt::join(names, ", ")));
  if (!wanted.empty()) {
    if (std::find(names.begin(), names.end(), wanted) == names.end())
      usage_fail("--split {}: {} has {}", excerpt(wanted), excerpt(folder.string()),
                 names.empty() ? "no splits" : "only " + all);
    return folder / wanted;
  }
  if (names.size() > 1)
    usage_fail("{}: several splits, {}; expected --split NAME for one of them", excerpt(folder.string()),
               all);
  return names.empty() ? std::filesystem::path() : folder / names[0];
}

class SplitReader {
 public:
  SplitReader(std::filesystem::path folder, const Tensor& y)
      : folder_(std::move(folder)), y_(y), part_of_(static_cast<size_t>(y.size(0)), 0) {}

  Split read() {
    Split split;
    split.train = read_part(1);
    split.val = read_part(2);
    split.test = read_part(3);
    if (left_out_ > 0)
      log_warning("{}: {} of {} indices have no label and are left out", excerpt(folder_.string()), left_out_,
                  all_);
    return split;
  }

 private:
  Tensor read_part(uint8_t part) {
    const std::string path = text_file(folder_, kParts[part]);
    if (path.empty()) {
      std::error_code error;
      data_fail("{}: {}.csv.gz is missing{}", excerpt(folder_.string()), kParts[part],
                std::filesystem::exists(folder_ / "split_dict.pt", error)
                    ? " (split_dict.pt is pickled, which is not read)"
                    : "");
    }
    const RowFormat format{.columns = 1, .least = 0, .most = y_.size(0) - 1};
    TextSource source(path);
    const Tensor index = read_rows<int32_t>(source, format);
    std::vector<int32_t> kept;
    for (int64_t k = 0; k < index.numel(); ++k) {
      const int32_t i = index.data<int32_t>()[k];
      uint8_t& seen = part_of_[static_cast<size_t>(i)];
      if (seen != 0)
        fail_row(path, format, k, "index {} is already in {}, expected once in a split", i, kParts[seen]);
      seen = part;
      if (detail::is_labelled(y_, i)) kept.push_back(i);
    }
    if (kept.empty())
      source.fail(0, "{}, expected at least one index",
                  index.numel() == 0 ? "empty" : fmt::format("none of {} has a label", index.numel()));
    all_ += index.numel();
    left_out_ += index.numel() - std::ssize(kept);
    return Tensor::from(kept);
  }

  std::filesystem::path folder_;
  const Tensor& y_;
  std::vector<uint8_t> part_of_;
  int64_t all_ = 0, left_out_ = 0;
};

}  // namespace

void set_split(Dataset& data, const std::filesystem::path& folder, const OgbOptions& options) {
  if (!options.has_split) return data.use_first_split();
  const std::filesystem::path chosen = choose(folder, options.split);
  if (!chosen.empty())
    data.splits.push_back(SplitReader(chosen, data.graph_y ? data.graph_y : data.y).read());
  data.use_first_split();
}

}  // namespace adj::ogb
