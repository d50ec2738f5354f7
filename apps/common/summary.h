#pragma once

#include <adjoint/adjoint.h>

#include <string>
#include <vector>

namespace adj::apps {

/// Exact degrees of a graph on the CPU, in one pass over its edges. Takes 4 bytes per node, or none for a
/// symmetric structure; does not build the transpose.
class Degrees {
 public:
  explicit Degrees(const Graph& graph);
  bool symmetric() const { return symmetric_; }
  int64_t in(int64_t i) const { return offsets_[i + 1] - offsets_[i]; }
  int64_t out(int64_t i) const { return symmetric_ ? in(i) : out_[static_cast<size_t>(i)]; }

 private:
  Csr edges_;  // owns the memory of offsets_
  const int64_t* offsets_;
  bool symmetric_;
  std::vector<int32_t> out_;
};

/// Prints two lines about a dataset on the CPU: counts, ranges of degrees, isolated nodes (no edge, in or
/// out), and whether every edge has its reverse (tested, regardless of weights).
void print_summary(const std::string& path, const Dataset& data);
/// Prints a line about a typed dataset, and one for each type: counts, features, labels, splits, times.
void print_summary(const std::string& path, const TypedDataset& data);

}  // namespace adj::apps
