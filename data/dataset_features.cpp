#include <adjoint/core/text.h>
#include <adjoint/data/detail/dataset_reader.h>
#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/graph/detail/sort_rows.h>

namespace adj::detail {

void DatasetReader::read_features() {
  const bool sparse =
      file_.has("nodes/x_indptr") || file_.has("nodes/x_indices") || file_.has("nodes/x_data");
  if (sparse && file_.has("nodes/x"))
    problems_.say("nodes", "both x and x_indptr, expected one kind of features");
  if (options_.features_in_file) return leave_features(sparse);
  if (sparse) read_sparse_features();
  if (!file_.has("nodes/x")) return;
  Tensor x = values_.floats("nodes/x", {extent("nodes/x", nodes_), kAny});
  if (nodes_ && sound({"nodes", "nodes/x"})) data_.x = Features(std::move(x));
}

void DatasetReader::read_feature_names() {
  data_.feature_names =
      names_at("nodes/x_names", data_.x || data_.x_in_file ? data_.num_features() : kAny, "column");
}

void DatasetReader::read_encoder() {
  data_.encoder = encoder_at("nodes/x_encoder", data_.x || data_.x_in_file ? data_.num_features() : kAny,
                             data_.feature_names);
}

FeatureEncoder DatasetReader::encoder_at(const std::string& path, int64_t features,
                                         const std::vector<std::string>& names) {
  FeatureEncoder encoder;
  if (!file_.has(path)) return encoder;
  problems_.attempt(path, [&] {
    const Tensor bytes = file_.tensor(path, {DType::u8}, {kAny});
    const std::string_view json(reinterpret_cast<const char*>(bytes.data<uint8_t>()),
                                static_cast<size_t>(bytes.numel()));
    FeatureEncoder found = FeatureEncoder::parse(json, fmt::format("{}: {}", excerpt(file_.file()), path),
                                                 features == kAny ? kLargest : features);
    if (features != kAny)
      if (const std::string problem = problem_of_encoder(found, features, names); !problem.empty())
        file_.fail(path, "{}", problem);
    encoder = std::move(found);
  });
  return encoder;
}

// Uses a separate reader, so that no HDF5 process runs during training.
void DatasetReader::leave_features(bool sparse) {
  if (sparse)
    file_.fail("nodes/x_indptr",
               "sparse features, expected dense ones in nodes/x: only such rows can stay in the file");
  if (!file_.has("nodes/x")) return;
  file_.expect_floats("nodes/x", {extent("nodes/x", nodes_), kAny});
  data_.x_in_file = FileRows::open(file_.file(), "nodes/x");
}

void DatasetReader::read_sparse_features() {
  std::optional<int64_t> cols;
  problems_.attempt("attribute nodes@x_cols", [&] {
    const int64_t width = file_.integer("nodes", "x_cols");
    if (width < 0 || width >= kLargest)
      file_.fail("attribute nodes@x_cols", "{}, expected 0 to {}", width, kLargest - 1);
    cols = width;
  });
  Csr csr;
  csr.indices = values_.indices("nodes/x_indices", kAny, cols.value_or(kLargest));
  const int64_t entries = csr.indices ? csr.indices.numel() : kAny;
  if (cols && csr.indices && *cols > most_sparse_columns(entries))
    problems_.say("attribute nodes@x_cols", "{} for {} entries, expected {} at most", *cols, entries,
                  most_sparse_columns(entries));
  csr.offsets = values_.offsets("nodes/x_indptr", extent("nodes/x_indptr", nodes_, 1), entries,
                                "the length of nodes/x_indices");
  Tensor values = values_.floats("nodes/x_data", {entries});
  if (!nodes_ || !cols ||
      !sound({"nodes", "attribute nodes@x_cols", "nodes/x_indices", "nodes/x_indptr", "nodes/x_data"}))
    return;
  csr.rows = *nodes_;
  csr.cols = *cols;
  sort_rows(csr, values);
  data_.x = SparseMatrix(Relation::from_csr(std::move(csr)), std::move(values));
}

}  // namespace adj::detail
