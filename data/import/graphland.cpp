#include <adjoint/core/parallel.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/import/detail/column_numbers.h>
#include <adjoint/data/import/detail/edge_rows.h>
#include <adjoint/data/import/detail/graphland_files.h>
#include <adjoint/data/import/graphland.h>
#include <adjoint/data/import/growing_rows.h>
#include <adjoint/data/import/number_rows.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/transforms.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace adj {

namespace {

using graphland::Info;
using graphland::kMost;
using graphland::NodeTable;
using Split3 = GraphLandOptions::Split;

constexpr int64_t kMostCategories = 10'000;
constexpr std::string_view kParts[] = {"train", "val", "test"};

class GraphLandReader {
 public:
  GraphLandReader(const std::string& folder, const GraphLandOptions& options)
      : folder_(folder), options_(options) {
    ADJ_CHECK(!options.random || options.split != Split3::THI,
              "GraphLandOptions: random splits of THI's three graphs, expected a part for each graph");
  }

  Dataset read() {
    info_ = graphland::read_info(file("info.yaml"));
    name_ = std::filesystem::weakly_canonical(folder_).filename().string();
    ReadProgress reading{file("features.csv"), file("targets.csv"), options_.random ? "" : masks_file(),
                         file("edgelist.csv")};
    read_features(reading);
    read_targets(reading);
    if (options_.random)
      draw_splits();
    else
      read_masks(reading);
    data_.name = name_;
    set_labels();
    Tensor x = make_features();
    read_edges(reading);
    if (options_.split == Split3::THI) {
      make_snapshots(x);
    } else {
      data_.graph = graph_of(nodes_, list_);
      set_split(parts_);
    }
    if (x.size(1) > 0) data_.x = Features(x);
    data_.undirected = options_.undirected || data_.graph.is_symmetric();
    return std::move(data_);
  }

 private:
  std::string file(const std::string& name) const { return (std::filesystem::path(folder_) / name).string(); }
  std::string masks_file() const {
    const bool by_time = options_.split == Split3::TH || options_.split == Split3::THI;
    return file(fmt::format("split_masks_{}.csv", by_time ? "TH" : name_of(options_.split)));
  }

  void read_features(Progress& reading) {
    NodeTable table(file("features.csv"), reading);
    std::vector<size_t> numbers = table.columns(info_.numerical);
    const std::vector<size_t> fractions = table.columns(info_.fraction);
    const std::vector<size_t> categories = table.columns(info_.categorical);
    numbers.insert(numbers.end(), fractions.begin(), fractions.end());
    GrowingRows<float> number_rows;
    GrowingRows<int32_t> category_rows;
    while (table.next()) {
      for (size_t column : numbers) number_rows.append(table.number(column));
      for (size_t column : categories) category_rows.append(table.category(column));
    }
    nodes_ = table.rows();
    if (nodes_ == 0) table.fail_file("no nodes, expected at least one");
    numbers_ = number_rows.take({nodes_, static_cast<int64_t>(numbers.size())});
    categories_ = category_rows.take({nodes_, static_cast<int64_t>(categories.size())});
  }

  void read_targets(Progress& reading) {
    NodeTable table(file("targets.csv"), reading);
    const size_t column = table.column(info_.target);
    const bool classes = info_.task != Info::Kind::regression;
    while (table.next()) {
      const float target = table.number(column);
      if (classes && !std::isnan(target)) {
        if (target < 0.0f || target != std::floor(target) || target > 16777216.0f)  // exact as float32
          table.fail(column, "a class, a whole number from 0, or nothing");
        if (info_.task == Info::Kind::binary && target > 1.0f)
          table.fail(column, "one of two classes, 0 or 1");
      }
      targets_.push_back(target);
    }
    table.expect_rows(nodes_);
    if (std::all_of(targets_.begin(), targets_.end(), [](float y) { return std::isnan(y); }))
      table.fail_file("no node has a {}", info_.target);
  }

  void draw_splits() {
    Tensor y = Tensor::from(targets_).reshape({nodes_, 1});
    if (info_.task != Info::Kind::regression) {
      std::vector<int32_t> classes;
      for (float target : targets_) classes.push_back(std::isnan(target) ? -1 : static_cast<int32_t>(target));
      y = Tensor::from(classes);
    }
    data_.splits = options_.random->draw(y, nodes_, folder_);
    parts_.assign(static_cast<size_t>(nodes_), kNone);
    for (int32_t i : data_.splits[0].train.to_vector<int32_t>()) parts_[static_cast<size_t>(i)] = kTrain;
  }

  /// A node may be in a part without having a label: it then counts as a node of that part in THI, but is in
  /// no split.
  void read_masks(Progress& reading) {
    NodeTable table(masks_file(), reading);
    size_t columns[3];
    for (size_t p = 0; p < 3; ++p) columns[p] = table.column(std::string(kParts[p]));
    bool labelled[3] = {};
    while (table.next()) {
      uint8_t part = kNone;
      for (uint8_t p = 0; p < 3; ++p) {
        if (!table.flag(columns[p])) continue;
        if (part != kNone) table.fail_row("in {} and in {}, expected one of them", kParts[part], kParts[p]);
        part = p;
      }
      const auto node = static_cast<size_t>(table.rows() - 1);
      if (part != kNone && node < targets_.size() && !std::isnan(targets_[node])) labelled[part] = true;
      parts_.push_back(part);
    }
    table.expect_rows(nodes_);
    for (size_t p = 0; p < 3; ++p)
      if (!labelled[p])
        table.fail_file("no node with a {} is in {}, expected at least one", info_.target, kParts[p]);
  }

  /// Checks the header; without one the first edge would be lost.
  void expect_edges() const {
    TextSource source(file("edgelist.csv"));
    std::string_view line;
    if (!source.next(line)) source.fail(1, "empty, expected a header and edges");
    FieldCursor cursor(line, Separator::comma);
    const auto number = [&] { return cursor.next() && double_in(cursor.field()); };
    if (number() && number()) source.fail(1, "\"{}\", expected a header, of two names", excerpt(line));
    do
      if (!source.next(line)) source.fail(1, "no edges after the header, expected some");
    while (trimmed(line).empty());
  }

  void read_edges(Progress& reading) {
    expect_edges();
    TextSource source(file("edgelist.csv"), &reading);
    const Tensor pairs =
        read_rows<int32_t>(source, {.columns = 2, .header = true, .least = 0, .most = nodes_ - 1});
    const int64_t edges = pairs.size(0);
    if (edges > kMost / 2) source.fail(0, "{} edges, expected at most {}", edges, kMost / 2);
    list_ = detail::edges_of(pairs);
  }

  /// True if fitted transforms use this node.
  bool is_fitted(int64_t node) const {
    return options_.split != Split3::THI || parts_[static_cast<size_t>(node)] == kTrain;
  }

  Tensor make_features() {
    const auto first = static_cast<int64_t>(info_.numerical.size()), numbers = numbers_.size(1);
    const std::vector<std::vector<int32_t>> shown = shown_categories();
    std::vector<int64_t> begins{numbers};
    for (const auto& values : shown)
      begins.push_back(begins.back() + (options_.one_hot ? static_cast<int64_t>(values.size()) : 1));
    expect_room(begins.back());
    Tensor x = Tensor::zeros({nodes_, begins.back()});
    float* const target = x.mutable_data<float>();
    const int64_t width = x.size(1);
    const bool widely = name_ == "artnet-views" || name_ == "avazu-ctr";
    const ColumnTransform fraction =
        options_.fraction.value_or(widely ? ColumnTransform::quantile_normal : ColumnTransform::none);
    parallel_for(numbers, 1, [&](int64_t begin, int64_t end) {
      for (int64_t column = begin; column < end; ++column) {
        const bool share = column >= first;
        fill_column(column, share ? fraction : options_.numerical,
                    share ? options_.fraction_imputation : options_.numerical_imputation, target + column,
                    width);
      }
    });
    numbers_ = {};
    fill_categories(shown, begins, target, width);
    return x;
  }

  /// One-hot columns can be many for few lines per category; limited relative to the file size.
  void expect_room(int64_t width) const {
    constexpr double kFree = 1 << 30, kMostRatio = 300.0;
    const std::string path = file("features.csv");
    const double bytes = static_cast<double>(nodes_) * static_cast<double>(width) * sizeof(float);
    std::error_code error;
    const auto size = static_cast<double>(std::filesystem::file_size(path, error));
    if (bytes > kFree && bytes > kMostRatio * size)
      data_fail(
          "{}: {} columns with those of categories, {:.3g} GB and more than {} times the file, expected "
          "fewer categories, or to take them as numbers (--categorical as-is)",
          excerpt(path), width, bytes / 1e9, kMostRatio);
  }

  void fill_column(int64_t column, ColumnTransform transform, Imputation imputation, float* target,
                   int64_t width) const {
    const float* source = numbers_.data<float>() + column;
    const int64_t stride = numbers_.size(1);
    std::vector<float> seen;
    int64_t rows = 0;
    for (int64_t i = 0; i < nodes_; ++i) {
      if (!is_fitted(i)) continue;
      ++rows;
      if (!std::isnan(source[i * stride])) seen.push_back(source[i * stride]);
    }
    if (seen.empty()) {
      const auto k = static_cast<size_t>(column), first = info_.numerical.size();
      data_fail("{}: {}: no number{}, expected at least one", excerpt(file("features.csv")),
                excerpt(k < first ? info_.numerical[k] : info_.fraction[k - first]),
                options_.split == Split3::THI ? " at a training node" : "");
    }
    const float filling = detail::imputed_value(imputation, seen);
    const ColumnFit fit(transform, std::move(seen), rows);
    for (int64_t i = 0; i < nodes_; ++i) {
      const float value = source[i * stride];
      target[i * width] = fit(std::isnan(value) ? filling : value);
    }
  }

  /// The categories with their own column, by categorical column; of two, only the greater.
  std::vector<std::vector<int32_t>> shown_categories() const {
    const int64_t columns = categories_.size(1);
    std::vector<std::vector<int32_t>> shown(static_cast<size_t>(columns));
    if (!options_.one_hot) return shown;
    const int32_t* category = categories_.data<int32_t>();
    for (int64_t column = 0; column < columns; ++column) {
      std::vector<int32_t>& values = shown[static_cast<size_t>(column)];
      for (int64_t i = 0; i < nodes_; ++i)
        if (is_fitted(i)) values.push_back(category[i * columns + column]);
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      if (static_cast<int64_t>(values.size()) > kMostCategories)
        data_fail("{}: {}: {} categories, expected at most {}", excerpt(file("features.csv")),
                  excerpt(info_.categorical[static_cast<size_t>(column)]), values.size(), kMostCategories);
      if (values.size() == 2) values.erase(values.begin());
    }
    return shown;
  }

  void fill_categories(const std::vector<std::vector<int32_t>>& shown, const std::vector<int64_t>& begins,
                       float* target, int64_t width) {
    const int64_t columns = categories_.size(1);
    const int32_t* category = categories_.data<int32_t>();
    parallel_for(nodes_, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t k = 0; k < columns; ++k) {
          const auto column = static_cast<size_t>(k);
          const int32_t value = category[i * columns + k];
          float* const place = target + i * width + begins[column];
          if (!options_.one_hot) {
            *place = static_cast<float>(value);
            continue;
          }
          const std::vector<int32_t>& values = shown[column];
          const auto found = std::lower_bound(values.begin(), values.end(), value);
          if (found != values.end() && *found == value) place[found - values.begin()] = 1.0f;
        }
    });
    categories_ = {};
  }

  void set_labels() {
    if (info_.task == Info::Kind::regression) {
      std::vector<float> seen;
      int64_t rows = 0;
      for (size_t i = 0; i < targets_.size(); ++i) {
        if (parts_[i] != kTrain) continue;
        ++rows;
        if (!std::isnan(targets_[i])) seen.push_back(targets_[i]);
      }
      const ColumnFit fit(options_.target, std::move(seen), rows);
      for (float& target : targets_) target = fit(target);
      data_.task = Task::node_regression;
      data_.y = Tensor::from(targets_).reshape({nodes_, 1});
      return;
    }
    data_.task = Task::node_class;
    std::vector<int32_t> y(targets_.size());
    for (size_t i = 0; i < y.size(); ++i)
      y[i] = std::isnan(targets_[i]) ? -1 : static_cast<int32_t>(targets_[i]);
    data_.classes = int64_t{*std::max_element(y.begin(), y.end())} + 1;
    if (info_.task == Info::Kind::binary) data_.classes = 2;
    data_.y = Tensor::from(y);
    if (const detail::ClassLabels labels(data_.y); !labels.number_classes())
      data_fail("{}: node {}: {} \"{}\", {}; \"task: regression\" in info.yaml takes numbers unchanged",
                excerpt(file("targets.csv")), labels.position, excerpt(info_.target), labels.largest,
                labels.expected());
  }

  Graph graph_of(int64_t nodes, const EdgeIndex& edges) const {
    const Graph graph = Graph::from_coo(nodes, edges.src, edges.dst);
    return Graph(options_.undirected ? to_undirected(graph).relation() : graph.relation());
  }

  /// `parts`: part of each node of the dataset; only labelled nodes enter the split.
  void set_split(const std::vector<uint8_t>& parts) {
    std::vector<int32_t> nodes[3];
    const bool classes = data_.task == Task::node_class;
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool labelled = classes ? data_.y.data<int32_t>()[i] >= 0 : !std::isnan(data_.y.data<float>()[i]);
      data_.unlabelled += !labelled;
      if (parts[i] != kNone && labelled) nodes[parts[i]].push_back(static_cast<int32_t>(i));
    }
    if (!options_.random)
      data_.splits = {{Tensor::from(nodes[0]), Tensor::from(nodes[1]), Tensor::from(nodes[2])}};
    data_.use_first_split();
  }

  /// The graphs at training, validation and test time, one after another.
  void make_snapshots(Tensor& x) {
    std::vector<int32_t> src, dst, node_of;
    std::vector<uint8_t> parts;
    std::vector<int64_t> offsets{0};
    const int32_t *source = list_.src.data<int32_t>(), *target = list_.dst.data<int32_t>();
    for (uint8_t p = 0; p < 3; ++p) {
      std::vector<int32_t> number(static_cast<size_t>(nodes_), -1);
      for (size_t i = 0; i < number.size(); ++i) {
        if (parts_[i] > p) continue;  // includes kNone
        if (static_cast<int64_t>(node_of.size()) == kMost)
          data_fail("{}: more than {} nodes in its three graphs", excerpt(folder_), kMost);
        number[i] = static_cast<int32_t>(node_of.size());
        node_of.push_back(static_cast<int32_t>(i));
        parts.push_back(parts_[i] == p ? p : kNone);
      }
      offsets.push_back(static_cast<int64_t>(node_of.size()));
      for (int64_t e = 0; e < list_.src.numel(); ++e) {
        const int32_t a = number[static_cast<size_t>(source[e])], b = number[static_cast<size_t>(target[e])];
        if (a < 0 || b < 0) continue;
        src.push_back(a);
        dst.push_back(b);
      }
      if (static_cast<int64_t>(src.size()) > kMost / 2)
        data_fail("{}: more than {} edges in its three graphs", excerpt(folder_), kMost / 2);
    }
    list_ = {Tensor::from(src), Tensor::from(dst)};
    data_.graph = graph_of(std::ssize(node_of), list_);
    data_.graph_offsets = Tensor::from(offsets);
    data_.node_ids = Tensor::from(std::vector<int64_t>(node_of.begin(), node_of.end()));
    const Tensor nodes = Tensor::from(node_of);
    x = detail::gather_edges(x, nodes);
    data_.y = detail::gather_edges(data_.y, nodes);
    set_split(parts);
  }

  static constexpr uint8_t kTrain = 0, kNone = 3;

  std::string folder_, name_;
  GraphLandOptions options_;
  Info info_;
  int64_t nodes_ = 0;
  Tensor numbers_, categories_;  // [N, numerical and fractions] with NaN, [N, categorical]
  std::vector<float> targets_;
  std::vector<uint8_t> parts_;
  EdgeIndex list_;
  Dataset data_;
};

}  // namespace

Dataset import_graphland(const std::string& folder, const GraphLandOptions& options) {
  return GraphLandReader(folder, options).read();
}

}  // namespace adj
