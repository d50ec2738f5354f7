#include <adjoint/core/random.h>
#include <adjoint/training/insight.h>

#include <algorithm>

#include <Eigen/Eigenvalues>

namespace adj::training {

std::vector<ColumnImportance> permutation_importance(const Tensor& x, int64_t repeats, uint64_t seed,
                                                     const std::function<double(const Tensor&)>& score) {
  const auto rows = static_cast<size_t>(x.size(0)), columns = static_cast<size_t>(x.size(1));
  const std::vector<float> original = x.to_vector<float>();
  std::vector<float> values = original;
  const double whole = score(x);
  std::vector<ColumnImportance> found;
  for (size_t column = 0; column < columns; ++column) {
    double sum = 0.0;
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
      Generator generator =
          Generator(seed).split(column * static_cast<uint64_t>(repeats) + static_cast<uint64_t>(repeat));
      const std::vector<int32_t> order = random_permutation(x.size(0), generator).to_vector<int32_t>();
      for (size_t i = 0; i < rows; ++i)
        values[i * columns + column] = original[static_cast<size_t>(order[i]) * columns + column];
      sum += score(Tensor::from(values, x.shape(), x.device()));
    }
    for (size_t i = 0; i < rows; ++i) values[i * columns + column] = original[i * columns + column];
    found.push_back({static_cast<int64_t>(column), whole - sum / static_cast<double>(repeats)});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.fall > b.fall; });
  return found;
}

Projection principal_plane(const Tensor& tensor) {
  const int64_t rows = tensor.size(0), columns = tensor.size(1);
  const std::vector<float> values = tensor.to(DType::f32).to_vector<float>();
  Eigen::MatrixXd m = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                          values.data(), rows, columns)
                          .cast<double>();
  m.rowwise() -= m.colwise().mean().eval();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(m.transpose() * m);  // eigenvalues ascend
  const double total = std::max(solved.eigenvalues().sum(), 1e-300);
  Projection plane;
  const auto component = [&](int64_t k, std::vector<double>& along, double& share) {
    along.assign(static_cast<size_t>(rows), 0.0);
    if (k < 0) return;
    Eigen::VectorXd direction = solved.eigenvectors().col(k);
    Eigen::Index largest = 0;
    direction.cwiseAbs().maxCoeff(&largest);
    if (direction[largest] < 0.0) direction = -direction;
    Eigen::Map<Eigen::VectorXd>(along.data(), rows) = m * direction;
    share = std::max(0.0, solved.eigenvalues()[k]) / total;
  };
  component(columns - 1, plane.x, plane.share_x);
  component(columns - 2, plane.y, plane.share_y);
  return plane;
}

}  // namespace adj::training
