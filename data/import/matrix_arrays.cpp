#include <adjoint/core/convert.h>
#include <adjoint/core/file.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/import/detail/edge_matrix.h>
#include <adjoint/data/import/detail/mat_file.h>
#include <adjoint/data/import/detail/npy_array.h>
#include <adjoint/data/import/detail/npz_fields.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/ranges.h>

namespace adj::detail {

namespace {

constexpr std::string_view kZipMark = "PK\x03\x04", kH5Mark = "\x89HDF\r\n\x1a\n";

/// A matrix that a file may mean.
struct Candidate {
  std::string name;
  int64_t rows = 0, cols = 0;
};

/// The square one, or that of the user.
Candidate chosen(const std::string& path, const std::vector<Candidate>& all, const std::string& variable) {
  std::vector<Candidate> square;
  std::vector<std::string> names;
  for (const Candidate& one : all) {
    names.push_back(fmt::format("{} [{}, {}]", excerpt(one.name), one.rows, one.cols));
    if (variable.empty() ? one.rows == one.cols && one.rows > 1 : one.name == variable) square.push_back(one);
  }
  const std::string found = names.empty() ? "no matrix of numbers" : "matrices " + listed(names, 10);
  if (square.empty() && !variable.empty())
    data_fail("{}: {}, expected one called \"{}\" (--variable)", excerpt(path), found, excerpt(variable));
  if (square.size() != 1)
    data_fail("{}: {}, expected one that is square{}", excerpt(path), found,
              square.empty() ? "" : " (--variable NAME says which)");
  if (square[0].rows != square[0].cols || square[0].rows < 1 || square[0].rows > NodeIds::kMost)
    data_fail("{}: {}: {} rows and {} columns, expected a square matrix", excerpt(path),
              excerpt(square[0].name), square[0].rows, square[0].cols);
  return square[0];
}

/// As float32.
Tensor rounded(const Tensor& values, EdgeMatrix& matrix) {
  Tensor result = values.to(DType::f32);
  dispatch_all(values.dtype(), [&]<class T>() {
    if constexpr (!std::is_same_v<T, bfloat16>)
      for (int64_t k = 0; k < values.numel(); ++k)
        matrix.rounding.add_value(values.data<T>()[k], result.data<float>()[k]);
  });
  return result;
}

/// An array of numbers as float32.
Tensor numbers_in(const NpzReader& z, const std::string& name, const std::vector<int64_t>& shape,
                  EdgeMatrix& matrix) {
  Tensor values = z.tensor(name, DType::f32, shape);
  if (const auto rounding = z.rounding().find(name); rounding != z.rounding().end())
    matrix.rounding = rounding->second;
  return values;
}

void add_dense(EdgeMatrix& matrix, const Tensor& values, bool transposed) {
  const float* x = values.data<float>();
  const int64_t nodes = values.size(0);
  for (int64_t i = 0; i < nodes; ++i)
    for (int64_t j = 0; j < nodes; ++j)
      if (const float value = x[i * nodes + j]; value != 0.0f)
        transposed ? matrix.add(j, i, value) : matrix.add(i, j, value);
}

void read_npy(const std::string& path, EdgeMatrix& matrix) {
  constexpr size_t kPiece = size_t{1} << 18;
  std::ifstream stream(path, std::ios::binary);
  const auto read = [&](char* buffer, size_t bytes) {
    stream.read(buffer, static_cast<std::streamsize>(bytes));
    if (static_cast<size_t>(stream.gcount()) < bytes) data_fail("truncated");
  };
  try {
    std::string head(kNpyPreamble, '\0');
    read(head.data(), head.size());
    const NpyText text = npy_text_place(head);
    head.resize(text.begin + text.length);
    read(head.data() + kNpyPreamble, head.size() - kNpyPreamble);
    const NpyHeader header = parse_npy_header(std::string_view(head).substr(text.begin));
    if (header.kind > NpyKind::floating)
      data_fail("elements of the type {}, expected bools, integers or floats of 16, 32 or 64 bits",
                header.type);
    if (header.shape.size() != 2 || header.shape[0] != header.shape[1] || header.shape[0] < 1)
      data_fail("an array [{}], expected a square matrix", fmt::join(header.shape, ", "));
    uint64_t left = static_cast<uint64_t>(header.numel()) * header.width;
    if (std::filesystem::file_size(path) != head.size() + left)
      data_fail("{} bytes, expected {} by its header", std::filesystem::file_size(path), head.size() + left);
    Tensor values = Tensor::empty({header.shape[0], header.shape[1]}, DType::f32);
    NpyValues target(header, values);
    for (std::string piece(kPiece, '\0'); left > 0;) {
      const size_t bytes = std::min<uint64_t>(left, kPiece);
      read(piece.data(), bytes);
      target.take(piece.data(), bytes);
      left -= bytes;
    }
    matrix.rounding = target.rounding();
    add_dense(matrix, values, false);
    matrix.ids.reserve_numbers(values.size(0));
  } catch (const DataError& error) {
    data_fail("{}: {}", excerpt(path), error.what());
  }
}

/// scipy.sparse.save_npz.
void read_sparse_npz(const NpzReader& z, EdgeMatrix& matrix) {
  const std::string format = z.text("format");
  const auto [rows, cols] = npz::matrix_shape(z, "shape");
  if (rows != cols) z.fail("shape", "{} rows and {} columns, expected a square matrix", rows, cols);
  npz::check_nodes(z, "shape", rows);
  Tensor row, col;
  if (format == "coo") {
    row = npz::indices(z, "row", {-1}, 0, rows - 1);
    col = npz::indices(z, "col", {row.numel()}, 0, rows - 1);
  } else if (format == "csr" || format == "csc") {
    const Csr csr = npz::csr(z, "", rows, rows);
    row = npz::rows_of(csr);
    col = csr.indices;
    if (format == "csc") std::swap(row, col);
  } else {
    z.fail("format", "\"{}\", expected coo, csr or csc (scipy.sparse.save_npz(FILE, matrix.tocsr()))",
           excerpt(format));
  }
  const Tensor values = numbers_in(z, "data", {row.numel()}, matrix);
  for (int64_t k = 0; k < values.numel(); ++k)
    matrix.add(row.data<int32_t>()[k], col.data<int32_t>()[k], values.data<float>()[k]);
  matrix.ids.reserve_numbers(rows);
  matrix.note = fmt::format("a sparse matrix ({})", format);
}

void read_npz(const std::string& path, const std::string& variable, EdgeMatrix& matrix) {
  const NpzReader z = NpzReader::open(path);
  if (variable.empty() && z.has("format") && z.has("shape") && z.has("data"))
    return read_sparse_npz(z, matrix);
  std::vector<Candidate> all;
  for (const std::string& name : z.names())
    if (const std::vector<int64_t>& shape = z.shape(name); shape.size() == 2)
      all.push_back({name, shape[0], shape[1]});
  const Candidate one = chosen(path, all, variable);
  add_dense(matrix, numbers_in(z, one.name, {one.rows, one.rows}, matrix), false);
  matrix.ids.reserve_numbers(one.rows);
  matrix.note = "array " + excerpt(one.name);
}

/// Column by column, as MATLAB stores sparse matrices.
template <class Value>
void add_columns(const std::vector<int64_t>& ir, const std::vector<int64_t>& jc, Value value,
                 EdgeMatrix& matrix) {
  for (size_t col = 0; col + 1 < jc.size(); ++col)
    for (int64_t k = jc[col]; k < jc[col + 1]; ++k)
      matrix.add(ir[static_cast<size_t>(k)], static_cast<int64_t>(col), value(static_cast<size_t>(k)));
}

void read_mat(const std::string& path, const std::string& variable, EdgeMatrix& matrix) {
  const std::vector<MatArray> arrays = read_mat_file(path);
  std::vector<Candidate> all;
  for (const MatArray& array : arrays) all.push_back({array.name, array.rows, array.cols});
  const Candidate one = chosen(path, all, variable);
  const MatArray& array =
      *std::find_if(arrays.begin(), arrays.end(), [&](const MatArray& a) { return a.name == one.name; });
  const auto value = [&](size_t k) { return static_cast<float>(array.values[k]); };
  for (size_t k = 0; k < array.values.size(); ++k) matrix.rounding.add_value(array.values[k], value(k));
  if (array.sparse) {
    add_columns(array.ir, array.jc, value, matrix);
  } else {
    for (size_t k = 0; k < array.values.size(); ++k)
      if (value(k) != 0.0f)
        matrix.add(static_cast<int64_t>(k) % one.rows, static_cast<int64_t>(k) / one.rows, value(k));
  }
  matrix.ids.reserve_numbers(one.rows);
  matrix.note = "variable " + excerpt(one.name);
}

/// MATLAB 7.3: HDF5, a full matrix transposed, a sparse one as a group of ir, jc and data.
void read_mat73(const std::string& path, const std::string& variable, EdgeMatrix& matrix) {
  const H5Reader file = H5Reader::open(path);
  std::vector<Candidate> all;
  for (const std::string& name : file.children("")) {
    if (name.starts_with('#')) continue;
    if (file.has(name + "/jc") && file.has_attribute(name, "MATLAB_sparse"))
      all.push_back({name, file.integer(name, "MATLAB_sparse"), file.shape(name + "/jc").at(0) - 1});
    else if (!file.is_group(name) && file.shape(name).size() == 2)
      all.push_back({name, file.shape(name)[1], file.shape(name)[0]});
  }
  const Candidate one = chosen(path, all, variable);
  const std::initializer_list<DType> numbers{DType::u8, DType::i32, DType::i64, DType::f32, DType::f64};
  if (!file.is_group(one.name)) {
    add_dense(matrix, rounded(file.tensor(one.name, numbers, {one.rows, one.rows}), matrix), true);
  } else {
    const auto integers = [&](const char* part) {
      return file.has(one.name + part)
                 ? file.tensor(one.name + part, numbers, {-1}).to(DType::i64).to_vector<int64_t>()
                 : std::vector<int64_t>();
    };
    const std::vector<int64_t> ir = integers("/ir"), jc = integers("/jc");
    Tensor data = Tensor::empty({0}, DType::f32);
    if (file.has(one.name + "/data")) data = rounded(file.tensor(one.name + "/data", numbers, {-1}), matrix);
    if (jc[0] != 0 || !std::is_sorted(jc.begin(), jc.end()) || jc.back() > std::ssize(ir) ||
        jc.back() > data.numel())
      file.fail(one.name + "/jc", "expected ascending numbers from 0 to the number of values");
    for (const int64_t row : ir)
      if (row < 0 || row >= one.rows) file.fail(one.name + "/ir", "{}, expected 0 to {}", row, one.rows - 1);
    add_columns(
        ir, jc, [&](size_t k) { return data.data<float>()[k]; }, matrix);
  }
  matrix.ids.reserve_numbers(one.rows);
  matrix.note = "variable " + excerpt(one.name);
}

}  // namespace

bool has_arrays(const std::string& path) {
  const std::string begin = first_bytes(path, kMatMark.size());
  return begin.starts_with(kNpyMark) || begin.starts_with(kZipMark) || begin.starts_with(kMatMark) ||
         begin.starts_with("MATLAB 7.3 MAT-file") || begin.starts_with(kH5Mark);
}

EdgeMatrix read_matrix_arrays(const std::string& path, const std::string& variable) {
  const std::string begin = first_bytes(path, kMatMark.size());
  EdgeMatrix matrix;
  if (begin.starts_with(kNpyMark)) {
    if (!variable.empty()) data_fail("{}: an .npy file has one array, expected no --variable", excerpt(path));
    matrix.note = "one array";
    read_npy(path, matrix);
  } else if (begin.starts_with(kZipMark)) {
    read_npz(path, variable, matrix);
  } else if (begin.starts_with(kMatMark)) {
    read_mat(path, variable, matrix);
  } else {
    read_mat73(path, variable, matrix);
  }
  matrix.note += "; nodes by number, from 0";
  return matrix;
}

}  // namespace adj::detail
