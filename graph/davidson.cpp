#include <adjoint/core/error.h>
#include <adjoint/core/parallel.h>
#include <adjoint/graph/detail/davidson.h>
#include <adjoint/graph/detail/multigrid.h>
#include <adjoint/graph/detail/ritz_basis.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace adj::detail {
namespace {

constexpr double kTolerance = 1e-4, kRelative = 1e-3, kRounding = 2e-13;
constexpr double kLeastDegree = 10.0, kMostDegree = 100.0;  // of the polynomial
constexpr int64_t kCycleProducts = 4;                       // of the finest level in a cycle of Multigrid
constexpr int64_t kMostProducts = 2000;                     // for each eigenvector, and for each of 8 more
constexpr int64_t kPanelGrain = 1 << 12;
int64_t block_for(int64_t count) { return ceil_div(ceil_div(count, kColumns), kColumns) * kColumns; }
double tolerance(double value) { return std::min(kTolerance, std::max(kRelative * value, kRounding)); }

class Davidson {
 public:
  Davidson(LaplacianLevel graph, int64_t count)
      : grid_(std::move(graph)),
        graph_(grid_.graph()),
        count_(count),
        basis_(graph_, davidson_columns(count), width_) {}
  Eigenpairs run();

 private:
  void start();
  std::vector<double> residuals(int64_t first);
  int64_t converged_from(int64_t first);
  void improve();
  void filter();

  /// f(number of the block's columns from `first`, number of a panel, node).
  template <class F>
  void for_panel(int64_t first, Panel& panel, F&& f) {
    double* block = basis_.block().data() + first;
    adj::parallel_for(graph_.nodes(), kPanelGrain, [&, block](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t k = 0; k < kColumns; ++k)
          f(block[i * width_ + k], panel[static_cast<size_t>(i * kColumns + k)], i);
    });
  }
  double degree(int64_t i) const { return graph_.degree[static_cast<size_t>(i)]; }

  Multigrid grid_;
  const LaplacianLevel& graph_;
  int64_t count_, width_ = block_for(count_), products_ = 0;
  double residual_ = 0.0;
  RitzBasis basis_;
  Panel panel_{graph_.nodes(), kColumns}, image_{graph_.nodes(), kColumns};
};

/// From the eigenvectors of the coarsest level, else from one random block.
void Davidson::start() {
  int64_t found = davidson_columns(count_) / 2;
  const std::vector<double> coarse = grid_.coarse_eigenvectors(found);
  for (int64_t first = 0; first == 0 || first + width_ <= found; first += width_) {
    for (int64_t k = 0; k < width_; ++k)
      if (first + k >= found)
        basis_.randomize(k);
      else
        for (int64_t i = 0; i < graph_.nodes(); ++i)
          basis_.block()[static_cast<size_t>(i * width_ + k)] =
              coarse[static_cast<size_t>(i * found + first + k)];
    basis_.append();
    products_ += width_;
  }
}

/// The lengths of L x - λ x of the Ritz vectors from `first`. They fill the block; where Multigrid corrects
/// them, their residuals.
std::vector<double> Davidson::residuals(int64_t first) {
  using Squares = std::array<double, kColumns>;
  std::vector<double> lengths;
  basis_.ritz_vectors(first, width_, basis_.block().data());
  for (int64_t p = 0; p < width_; p += kColumns) {
    for_panel(p, panel_, [](double& number, double& copy, int64_t) { copy = number; });
    advance(graph_, 1.0, -1.0, 0.0, panel_.data(), image_.data());
    const double* values = basis_.values().data() + first + p;
    std::vector<Squares> parts(static_cast<size_t>(ceil_div(graph_.nodes(), kPanelGrain)), Squares{});
    adj::parallel_for(graph_.nodes(), kPanelGrain, [&](int64_t begin, int64_t end) {
      Squares& sum = parts[static_cast<size_t>(begin / kPanelGrain)];
      for (int64_t n = begin * kColumns; n < end * kColumns; ++n) {
        double& rest = image_[static_cast<size_t>(n)];
        rest -= values[n % kColumns] * panel_[static_cast<size_t>(n)];
        sum[static_cast<size_t>(n % kColumns)] += degree(n / kColumns) * rest * rest;
      }
    });
    for (size_t k = 0; k < kColumns; ++k) {
      double sum = 0.0;
      for (const Squares& part : parts) sum += part[k];
      lengths.push_back(std::sqrt(sum));
    }
    if (grid_.is_coarsened())
      for_panel(p, image_, [](double& copy, double& number, int64_t) { copy = number; });
  }
  products_ += width_;
  return lengths;
}

/// The block's vectors, into the image: T_m of L, mapped so that it is small from the middle Ritz value on.
void Davidson::filter() {
  const std::vector<double>& values = basis_.values();
  const double begin = std::min(values[values.size() / 2], 1.5), end = 2.0;
  const double along = (end + begin - 2.0) / (begin - end), across = 2.0 / (begin - end);
  // To tell an eigenvalue near 0 from the next takes about 1 / its root.
  const double wanted = 2.0 / std::sqrt(std::max(values[0], 1e-6));
  const auto last = static_cast<int64_t>(std::clamp(wanted, kLeastDegree, kMostDegree));
  advance(graph_, along, across, 0.0, panel_.data(), image_.data());
  for (int64_t m = 1; m < last; ++m) {
    advance(graph_, 2.0 * along, 2.0 * across, -1.0, image_.data(), panel_.data());
    std::swap(panel_, image_);
  }
  products_ += kColumns * last;
}

void Davidson::improve() {
  for (int64_t p = 0; p < width_; p += kColumns) {
    if (grid_.is_coarsened()) {
      for_panel(p, panel_, [&](double& number, double& scaled, int64_t i) { scaled = degree(i) * number; });
      grid_.solve(panel_.data(), image_.data());
      products_ += kColumns * kCycleProducts;
    } else {
      for_panel(p, panel_, [](double& number, double& copy, int64_t) { copy = number; });
      filter();
    }
    for_panel(p, image_, [](double& copy, double& number, int64_t) { copy = number; });
  }
  basis_.append();
  products_ += width_;
}

/// The first Ritz pair from `first` that is not within its tolerance; the block is as residuals() left it.
int64_t Davidson::converged_from(int64_t first) {
  if (first == 0) residual_ = 0.0;
  const std::vector<double>& values = basis_.values();
  for (; first < count_ && first + width_ <= std::ssize(values); first += width_) {
    const std::vector<double> lengths = residuals(first);
    for (int64_t k = 0; k < width_; ++k) {
      const double length = lengths[static_cast<size_t>(k)];
      if (!(length <= tolerance(values[static_cast<size_t>(first + k)]))) return first + k;
      if (first + k < count_) residual_ = std::max(residual_, length);
    }
  }
  return first;
}

Eigenpairs Davidson::run() {
  start();
  for (int64_t first = 0;;) {
    const int64_t start = first;
    first = converged_from(start);
    if (first >= count_) {
      if (start == 0) break;
      first = 0;  // those before `start` were good when last seen: all once more
      continue;
    }
    ADJ_CHECK(
        products_ < kMostProducts * (count_ + kColumns),
        "laplacian eigenvectors: {} of {} reached their residuals in {} products over {} nodes; expected "
        "fewer of them, or eigenvalues further apart",
        first, count_, products_, graph_.nodes());
    improve();
  }
  const std::vector<double>& values = basis_.values();
  Eigenpairs pairs{{values.begin(), values.begin() + count_}, {}, products_, residual_};
  pairs.vectors.resize(static_cast<size_t>(graph_.nodes() * count_));
  basis_.ritz_vectors(0, count_, pairs.vectors.data());
  adj::parallel_for(graph_.nodes(), kPanelGrain, [&](int64_t begin, int64_t end) {
    for (int64_t n = begin * count_; n < end * count_; ++n)
      pairs.vectors[static_cast<size_t>(n)] *= std::sqrt(degree(n / count_));
  });
  return pairs;
}

}  // namespace

int64_t davidson_columns(int64_t count) {
  const int64_t width = block_for(count);
  return ceil_div(2 * count + 48, width) * width;
}

Eigenpairs davidson(LaplacianLevel graph, int64_t count) { return Davidson(std::move(graph), count).run(); }

}  // namespace adj::detail
