#include <adjoint/data/import/detail/npz_fields.h>
#include <adjoint/data/import/detail/ogb_raw.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace adj::ogb {

namespace {

class Binary : public Raw {
 public:
  explicit Binary(const std::filesystem::path& folder)
      : data_(NpzReader::open((folder / "data.npz").string())) {
    for (const std::string& name : data_.names())
      if (name != "edge_index" && name != "num_nodes_list" && name != "num_edges_list" &&
          !name.starts_with("node_") && !name.starts_with("edge_"))
        data_.fail(name, "an unknown array, expected node_… or edge_…");
    for (const char* kind : {"node", "graph"}) {
      const auto path = folder / fmt::format("{}-label.npz", kind);
      std::error_code error;
      if (std::filesystem::exists(path, error))
        labels_.emplace(fmt::format("{}_label", kind), NpzReader::open(path.string()));
    }
  }

  bool has(std::string_view table) const override {
    return labels_.contains(table) || (!table.ends_with("_label") && data_.has(table));
  }

  Tensor counts(std::string_view table, int64_t least) override {
    const Tensor all = npz::indices(data_, table, {-1}, least, npz::kMost).to(DType::i64);
    if (all.numel() == 0) fail(table, "empty, expected a number per graph");
    return all;
  }

  EdgeIndex edges(int64_t edges, int64_t most) override {
    npz::expect_shape(data_, "edge_index", {2, edges});
    const Tensor ends = npz::indices(data_, "edge_index", {2, edges}, 0, most);
    return {ends.rows(0, 1).reshape({edges}), ends.rows(1, 2).reshape({edges})};
  }

  Tensor numbers(std::string_view table, int64_t rows, bool missing) override {
    const NpzReader& z = file_of(table);
    const bool column = z.shape(table).size() == 1;
    Tensor values = column ? z.tensor(table, DType::f32, {rows}).reshape({rows, 1})
                           : z.tensor(table, DType::f32, {rows, -1});
    if (values.size(1) == 0) fail(table, "no columns, expected at least one");
    const float* x = values.data<float>();
    for (int64_t k = 0; k < values.numel(); ++k)
      if (!std::isfinite(x[k]) && !(missing && std::isnan(x[k])))
        fail_at(table, k / values.size(1),
                fmt::format("{} in column {}, expected a finite number{}", x[k], k % values.size(1),
                            missing ? ", or nan for none" : ""));
    return values;
  }

  int64_t rows(std::string_view table) override {
    const NpzReader& z = file_of(table);
    if (z.shape(table).size() == 1) npz::check_nodes(z, table, z.shape(table)[0]);
    return z.shape(table).size() == 1 ? z.shape(table)[0] : npz::nodes_with_features(z, table);
  }

  void fail_at(std::string_view table, int64_t row, const std::string& message) override {
    file_of(table).fail(table, "row {}: {}", row, message);
  }

  void fail(std::string_view table, const std::string& message) override {
    file_of(table).fail(table, "{}", message);
  }

 private:
  const NpzReader& file_of(std::string_view table) const {
    const auto labels = labels_.find(table);
    return labels == labels_.end() ? data_ : labels->second;
  }

  NpzReader data_;
  std::map<std::string, NpzReader, std::less<>> labels_;
};

}  // namespace

std::unique_ptr<Raw> open_binary(const std::filesystem::path& folder) {
  return std::make_unique<Binary>(folder);
}

}  // namespace adj::ogb
