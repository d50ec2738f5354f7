#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/import/detail/ogb_raw.h>
#include <adjoint/data/import/number_rows.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace adj::ogb {

namespace {

constexpr float kMostClasses = 16777216.0f;  // float32 represents integers exactly up to here

bool is_class(float value) { return value >= 0 && value < kMostClasses && value == std::floor(value); }

/// Derived from the labels if the options do not specify it.
LabelKind kind_of(const Tensor& y, std::string_view table) {
  const float* values = y.data<float>();
  bool classes = true, bits = true, integers = true;
  for (int64_t k = 0; k < y.numel(); ++k) {
    if (std::isnan(values[k])) continue;
    classes = classes && is_class(values[k]);
    bits = bits && (values[k] == 0.0f || values[k] == 1.0f);
    integers = integers && values[k] == std::floor(values[k]);
  }
  if (y.size(1) == 1 && classes) return LabelKind::classes;
  if (y.size(1) > 1 && bits) return LabelKind::multilabel;
  if (!integers) return LabelKind::regression;
  usage_fail("{}: {}, whose kind is unknown: expected --task class, multilabel or regression", table,
             y.size(1) == 1 ? "integers below 0 or too large for classes" : "several columns of integers");
}

Tensor column_of(const Tensor& y, int64_t column, std::string_view table) {
  const int64_t width = y.size(1);
  if (column < 0 || column >= width)
    usage_fail("--label-column {}: {} has {} columns, expected 0 to {}", column, table, width, width - 1);
  Tensor one = Tensor::empty({y.size(0), 1});
  for (int64_t i = 0; i < y.size(0); ++i) one.mutable_data<float>()[i] = y.data<float>()[i * width + column];
  return one;
}

/// int32 [rows], -1 for missing.
Tensor classes_of(const Tensor& y, Raw& raw, std::string_view table) {
  if (y.size(1) != 1)
    raw.fail(table, fmt::format("{} columns, expected one of classes (--label-column chooses)", y.size(1)));
  const float* values = y.data<float>();
  Tensor classes = Tensor::empty({y.size(0)}, DType::i32);
  int32_t* target = classes.mutable_data<int32_t>();
  for (int64_t i = 0; i < y.size(0); ++i) {
    if (!std::isnan(values[i]) && !is_class(values[i]))
      raw.fail_at(table, i,
                  fmt::format("label {}, expected a class, an integer from 0 to {}", values[i],
                              static_cast<int64_t>(kMostClasses) - 1));
    target[i] = std::isnan(values[i]) ? -1 : static_cast<int32_t>(values[i]);
  }
  return classes;
}

void check_bits(const Tensor& y, Raw& raw, std::string_view table) {
  const float* values = y.data<float>();
  for (int64_t k = 0; k < y.numel(); ++k)
    if (!std::isnan(values[k]) && values[k] != 0.0f && values[k] != 1.0f)
      raw.fail_at(table, k / y.size(1),
                  fmt::format("label {} in column {}, expected 0 or 1", values[k], k % y.size(1) + 1));
}

}  // namespace

void set_labels(Dataset& data, Raw& raw, std::string_view table, int64_t rows, const OgbOptions& options) {
  const bool graphs = table == "graph_label";
  Tensor y = raw.numbers(table, rows, true);
  if (options.label_column) y = column_of(y, *options.label_column, table);
  const LabelKind kind = options.labels ? *options.labels : kind_of(y, table);
  if (kind == LabelKind::multilabel && graphs)
    raw.fail(table,
             fmt::format("{} columns of 0 and 1, which no task of graphs has; expected --label-column K "
                         "for one of them, or --task regression for all as targets",
                         y.size(1)));
  if (kind == LabelKind::classes) {
    y = classes_of(y, raw, table);
    const int32_t* labels = y.data<int32_t>();
    for (int64_t i = 0; i < rows; ++i) {
      data.classes = std::max(data.classes, int64_t{labels[i]} + 1);
      data.unlabelled += labels[i] < 0;
    }
    if (const detail::ClassLabels class_labels(y); !class_labels.number_classes())
      raw.fail_at(table, class_labels.position,
                  fmt::format("label {}, {}; --task regression takes labels as numbers", class_labels.largest,
                              class_labels.expected()));
    data.task = graphs ? Task::graph_class : Task::node_class;
  } else {
    if (kind == LabelKind::multilabel) check_bits(y, raw, table);
    data.unlabelled = detail::count_unlabelled(y);
    data.task = kind == LabelKind::multilabel ? Task::node_multilabel
                : graphs                      ? Task::graph_regression
                                              : Task::node_regression;
  }
  if (data.unlabelled == rows)
    raw.fail(table, fmt::format("{} rows, none with a label, expected at least one", rows));
  (graphs ? data.graph_y : data.y) = std::move(y);
}

namespace {

constexpr const char* kParts[] = {"", "train", "valid", "test"};

}  // namespace

std::filesystem::path chosen_split(const std::filesystem::path& folder, const std::string& wanted) {
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

Split read_split(const std::filesystem::path& folder, const Tensor& y) {
  std::vector<uint8_t> part_of(static_cast<size_t>(y.size(0)));
  int64_t all = 0, left_out = 0;
  const auto read_part = [&](uint8_t part) {
    const std::string path = text_file(folder, kParts[part]);
    if (path.empty()) {
      std::error_code error;
      data_fail("{}: {}.csv.gz is missing{}", excerpt(folder.string()), kParts[part],
                std::filesystem::exists(folder / "split_dict.pt", error)
                    ? " (split_dict.pt is pickled, which is not read)"
                    : "");
    }
    const RowFormat format{.columns = 1, .least = 0, .most = y.size(0) - 1};
    TextSource source(path);
    const Tensor index = read_rows<int32_t>(source, format);
    std::vector<int32_t> kept;
    for (int64_t k = 0; k < index.numel(); ++k) {
      const int32_t i = index.data<int32_t>()[k];
      uint8_t& seen = part_of[static_cast<size_t>(i)];
      if (seen != 0)
        fail_row(path, format, k, "index {} is already in {}, expected once in a split", i, kParts[seen]);
      seen = part;
      if (detail::is_labelled(y, i)) kept.push_back(i);
    }
    if (kept.empty())
      source.fail(0, "{}, expected at least one index",
                  index.numel() == 0 ? "empty" : fmt::format("none of {} has a label", index.numel()));
    all += index.numel();
    left_out += index.numel() - std::ssize(kept);
    return Tensor::from(kept);
  };
  Split split{read_part(1), read_part(2), read_part(3)};
  if (left_out > 0)
    log_warning("{}: {} of {} indices have no label and are left out", excerpt(folder.string()), left_out,
                all);
  return split;
}

void set_split(Dataset& data, const std::filesystem::path& folder, const OgbOptions& options) {
  if (!options.has_split) return data.use_first_split();
  const std::filesystem::path chosen = chosen_split(folder, options.split);
  if (!chosen.empty()) data.splits.push_back(read_split(chosen, data.graph_y ? data.graph_y : data.y));
  data.use_first_split();
}

}  // namespace adj::ogb
