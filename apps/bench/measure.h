#pragma once

#include <adjoint/adjoint.h>
#include <adjoint/kernels/aggregate/spmm_coo.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace adj::apps {

/// Order of an edge list.
enum class EdgeOrder : uint8_t { by_source, by_target, shuffled };
constexpr auto names_of(EdgeOrder) { return std::array{"by-source", "by-target", "shuffled"}; }

/// Input and parameters of the ops.
struct Subject {
  Dataset data;              ///< with features and labels, on the device
  int64_t width = 128;       ///< of the kernels' features
  int64_t heads = 8;         ///< of attention, sharing the width; reduced if they do not divide it
  int64_t out = 128;         ///< columns of a product's result
  DType dtype = DType::f32;  ///< of features in sparse products and attention
  int64_t hidden = 256;      ///< of the trained models
  int64_t layers = 3;
  models::Norm norm = models::Norm::batch;
  double dropout = 0.5;
  double attention_dropout = 0.0;  ///< of coefficients
  bool capture = true;
  int64_t parts = 0;  ///< clusters; 0: by the number of nodes, or the dataset's own
  int64_t parts_per_batch = 20;
  EdgeOrder edges = EdgeOrder::by_source;
  kernels::ScatterSums scatter = kernels::ScatterSums::fixed_point;  ///< of spmm_coo
  NeighborSampling sampling = {};                                    ///< of mini-batches
  int64_t batch_size = 1024;                                         ///< their seeds
  int workers = 0;                                                   ///< threads that prepare them
  int64_t least = 2;               ///< entries of a window's column that go into tiles
  int64_t size = 8192;             ///< rows and columns of a matrix of bits
  int64_t bits_a = 1, bits_b = 1;  ///< of a left and of a right operand

  bool batch_norm() const { return norm == models::Norm::batch; }
  Device device() const { return data.device(); }
  const Graph& graph() const { return data.graph; }
  int64_t shared_heads() const { return std::gcd(width, heads); }
};

/// A prepared op: run() may be called repeatedly.
struct Job {
  std::string shape;  ///< "169343 x 128, 1166243 entries"
  double bytes =
      0.0;  ///< minimum memory traffic: reads and writes, a gathered row counted per entry; 0: unknown
  double flops = 0.0;  ///< of a dense product
  std::function<void()> run;
  double edges = 0.0;  ///< sampled per call
};

struct Op {
  std::string name;
  std::string summary;
  std::function<Job(const Subject&)> prepare;
};

/// Kernels, including attention and edge lists.
std::vector<Op> kernel_ops();
std::vector<Op> list_ops();
std::vector<Op> attention_ops();
/// Products over tensor-core tiles.
std::vector<Op> tile_ops();
/// Products of bit tensors.
std::vector<Op> bit_ops();
/// Training epochs: forward, loss, backward, Adam.
std::vector<Op> epoch_ops();
/// A layer over nodes and edges of many types.
std::vector<Op> typed_ops();
/// Scores and losses of knowledge graphs.
std::vector<Op> triple_ops();
/// Kernels of cuSPARSE, named "cusparse_" and ours; none in a build without it.
std::vector<Op> peer_ops();
/// Training epochs over clusters, loaded or with all batches in memory.
std::vector<Op> cluster_ops();
/// Mini-batches of training nodes.
std::vector<Op> sample_ops();

/// The dataset at `path`, or a generated graph by name with random features and labels, half of the nodes for
/// training.
Dataset load_subject(const std::string& path);
Dataset generate_subject(const std::string& graph, int64_t features, int64_t classes, uint64_t seed);

struct Measurement {
  double ms = 0.0;        ///< median
  double min_ms = 0.0;    ///< fastest
  double copy_gbs = 0.0;  ///< of the interleaved copies: bytes read and written per second, median
  double peak_mb = 0.0;   ///< peak tensor memory during preparation and runs
};

/// Prepares and times an op: five warm-up calls, then `repeats` rounds of the op and a copy of as many bytes
/// (at least 256 MB, to exceed caches; at most 4 GB). Short ops run several times per round.
Measurement measure(const Op& op, const Subject& subject, int64_t repeats, Job& job);

}  // namespace adj::apps
