#include <adjoint/data/detail/declared_counts.h>
#include <adjoint/data/detail/labels.h>
#include <adjoint/data/detail/shape_text.h>
#include <adjoint/data/import/detail/npz_fields.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

namespace adj::npz {

namespace {

using detail::place_text;

constexpr std::string_view kParts[] = {"", "train", "val", "test"};

}  // namespace

Tensor indices(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape, int64_t least,
               int64_t most) {
  Tensor values = z.tensor(name, DType::i32, shape);
  const int32_t* x = values.data<int32_t>();
  for (int64_t k = 0; k < values.numel(); ++k)
    if (x[k] < least || x[k] > most)
      z.fail(name, "{} at {}, expected {} to {}", x[k], place_text(z.shape(name), k), least, most);
  return values;
}

Tensor finite(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape) {
  Tensor values = z.tensor(name, DType::f32, shape);
  const float* x = values.data<float>();
  for (int64_t k = 0; k < values.numel(); ++k)
    if (!std::isfinite(x[k]))
      z.fail(name, "{} at {}, expected finite numbers", x[k], place_text(z.shape(name), k));
  return values;
}

std::array<int64_t, 2> matrix_shape(const NpzReader& z, const std::string& name) {
  const Tensor extents = z.tensor(name, DType::i64, {2});
  const int64_t* n = extents.data<int64_t>();
  for (int k = 0; k < 2; ++k)
    if (n[k] < 0 || n[k] > kMost) z.fail(name, "{} at position {}, expected 0 to {}", n[k], k, kMost);
  return {n[0], n[1]};
}

Csr csr(const NpzReader& z, const std::string& prefix, int64_t rows, int64_t cols) {
  const std::string indptr = prefix + "indptr", name = prefix + "indices";
  Csr matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  matrix.indices = indices(z, name, {-1}, 0, cols - 1);
  matrix.offsets = z.tensor(indptr, DType::i64, {rows + 1});
  const int64_t* offsets = matrix.offsets.data<int64_t>();
  if (offsets[0] != 0) z.fail(indptr, "begins with {}, expected 0", offsets[0]);
  for (int64_t i = 0; i < rows; ++i)
    if (offsets[i + 1] < offsets[i])
      z.fail(indptr, "falls from {} to {} at position {}, expected ascending numbers", offsets[i],
             offsets[i + 1], i + 1);
  if (offsets[rows] != matrix.indices.numel())
    z.fail(indptr, "ends with {}, but {} has {} elements", offsets[rows], name, matrix.indices.numel());
  return matrix;
}

Tensor rows_of(const Csr& csr) {
  Tensor rows = Tensor::empty({csr.indices.numel()}, DType::i32);
  int32_t* target = rows.mutable_data<int32_t>();
  const int64_t* offsets = csr.offsets.data<int64_t>();
  for (int64_t i = 0; i < csr.rows; ++i)
    std::fill(target + offsets[i], target + offsets[i + 1], static_cast<int32_t>(i));
  return rows;
}

void expect_shape(const NpzReader& z, std::string_view name, const std::vector<int64_t>& shape) {
  const std::vector<int64_t>& found = z.shape(name);
  if (!detail::has_shape(found, shape))
    z.fail(name, "shape {}, expected {}", detail::shape_text(found), detail::shape_text(shape));
}

void check_nodes(const NpzReader& z, std::string_view name, int64_t nodes) {
  if (nodes < 1 || nodes > kMost) z.fail(name, "{} nodes, expected 1 to {}", nodes, kMost);
  // A node takes at least one bit uncompressed, and few files compress below a twentieth of that.
  constexpr uint64_t kNodesPerByte = 200;
  const uint64_t most = kNodesPerByte * z.file_bytes();
  if (nodes > detail::most_bare_nodes(0) && static_cast<uint64_t>(nodes) > most)
    z.fail(name, "{} nodes in a file of {} bytes, expected {} at most", nodes, z.file_bytes(), most);
}

int64_t nodes_with_features(const NpzReader& z, std::string_view name) {
  expect_shape(z, name, {-1, -1});
  const std::vector<int64_t>& shape = z.shape(name);
  if (shape[1] == 0) z.fail(name, "shape [{}, 0], expected at least one column", shape[0]);
  check_nodes(z, name, shape[0]);
  return shape[0];
}

void check_edges(const NpzReader& z, std::string_view name, int64_t edges) {
  if (edges > kMost) z.fail(name, "{} edges, counting both directions, expected at most {}", edges, kMost);
}

void set_classes(Dataset& data, const NpzReader& z, std::string_view name) {
  const int64_t nodes = data.num_nodes();
  data.y = (z.shape(name).size() == 2 ? indices(z, name, {nodes, 1}, -1, kMost)
                                      : indices(z, name, {nodes}, -1, kMost))
               .reshape({nodes});
  data.task = Task::node_class;
  const int32_t* y = data.y.data<int32_t>();
  data.classes = int64_t{*std::max_element(y, y + nodes)} + 1;
  if (data.classes == 0) z.fail(name, "-1 for all nodes, expected at least one label");
  if (const detail::ClassLabels labels(data.y); !labels.number_classes())
    z.fail(name, "{} at position {}, {}; targets of regression are written as floating numbers",
           labels.largest, labels.position, labels.expected());
  data.unlabelled = std::count(y, y + nodes, -1);
}

void Splits::mark(std::string_view name, size_t s, int64_t i, int part) {
  uint8_t& current = part_of_[s][static_cast<size_t>(i)];
  if (current != 0)
    z_.fail(name, "node {} of split {} is already in {}, expected each node in at most one part", i, s,
            kParts[current]);
  if (data_.unlabelled > 0 && !detail::is_labelled(data_.y, i))
    z_.fail(name, "node {} of split {} has no label", i, s);
  current = static_cast<uint8_t>(part);
}

void Splits::put_into(Dataset& data, std::array<std::string_view, 3> names) const {
  for (size_t s = 0; s < part_of_.size(); ++s) {
    Tensor parts[3];
    for (uint8_t part = 1; part <= 3; ++part) {
      std::vector<int32_t> nodes;
      for (size_t i = 0; i < part_of_[s].size(); ++i)
        if (part_of_[s][i] == part) nodes.push_back(static_cast<int32_t>(i));
      if (nodes.empty())
        z_.fail(names[part - 1], "no node of split {} is in {}, expected at least one", s, kParts[part]);
      parts[part - 1] = Tensor::from(nodes);
    }
    data.splits.push_back({parts[0], parts[1], parts[2]});
  }
  data.use_first_split();
}

void set_masks(Dataset& data, const NpzReader& z, std::array<std::string_view, 3> names, bool split_first) {
  const int64_t nodes = data.num_nodes();
  const bool many = split_first || z.shape(names[0]).size() == 2;
  if (many && split_first) expect_shape(z, names[0], {-1, nodes});
  if (many && !split_first) expect_shape(z, names[0], {nodes, -1});
  const int64_t count = many ? z.shape(names[0])[split_first ? 0 : 1] : 1;
  if (count == 0) z.fail(names[0], "no splits, expected at least one");
  Splits splits(z, data, count);
  for (int part = 1; part <= 3; ++part) {
    const std::string_view name = names[static_cast<size_t>(part - 1)];
    const Tensor mask = !many         ? z.tensor(name, DType::u8, {nodes})
                        : split_first ? z.tensor(name, DType::u8, {count, nodes})
                                      : z.tensor(name, DType::u8, {nodes, count});
    const uint8_t* x = mask.data<uint8_t>();
    for (int64_t s = 0; s < count; ++s)
      for (int64_t i = 0; i < nodes; ++i) {
        const uint8_t in = x[split_first ? s * nodes + i : i * count + s];
        if (in > 1) z.fail(name, "{} for node {} of split {}, expected 0 or 1", in, i, s);
        if (in == 1) splits.mark(name, static_cast<size_t>(s), i, part);
      }
  }
  splits.put_into(data, names);
}

std::string stem(const NpzReader& z) { return std::filesystem::path(z.file()).stem().string(); }

}  // namespace adj::npz
