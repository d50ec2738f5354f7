#pragma once

#include <adjoint/models/integer_batch.h>
#include <adjoint/models/trained_model.h>

#include <memory>

namespace adj {

namespace detail {
struct IntegerParts;
}

/// Method of an IntegerModel for sums over neighbours; results are bit-identical. `bits`: product with the
/// adjacency matrix, one bit per entry, on tensor cores (QGTC, section 4.1); for a GPU and batches with many
/// entries per row. `bytes`: gathers of byte rows.
enum class IntegerSums : uint8_t { automatic, bits, bytes };
constexpr auto names_of(IntegerSums) { return std::array{"auto", "bits", "bytes"}; }  ///< in options

/// How an IntegerModel computes. Automatic `sums`: bytes on a CPU, else the faster by an estimate for an
/// H200.
struct IntegerModelOptions {
  IntegerSums sums = IntegerSums::automatic;
  bool skip_steps = true;   ///< skip empty steps of the adjacency (zero-tile jumping, section 4.3)
  bool share_steps = true;  ///< read the adjacency once for several bit planes (tile reuse, section 4.4)
};

/// Integer inference for models of train_qgnn and train_graph_qgin: bit products and sums with fused
/// epilogues (bias, folded batch norm, relu, quantisation), and float32 logits. Matches the trained model in
/// evaluation mode, except where a rounded float32 sum of that model crosses the border between two integers.
///
///   const IntegerModel model(load_trained("q.h5", device));
///   const Tensor logits = model(model.pack(graph, features).to(device));
///
/// Immutable, therefore thread-safe.
class IntegerModel {
 public:
  /// Throws adj::Error for a model of another family, layers that are not quantised (32 bits), bits by node
  /// (their integers share no scale that sums could use), and scales or zeros that no training writes.
  explicit IntegerModel(const TrainedModel& trained, const IntegerModelOptions& options = {});

  /// Reads a file of save(); results are bit-identical. Throws DataError "FILE: PLACE: …" for missing or
  /// extra entries, wrong types, shapes or bits, scales that are not finite and above 0, and zeros out of
  /// range.
  static IntegerModel load(const std::string& path, Device device = Device::cpu(),
                           const IntegerModelOptions& options = {});
  /// Writes weights as bit tensors, and everything else that predictions need. Replaces `path` atomically.
  /// Throws adj::Error for a model that does not come from a checkpoint, DataError if the file cannot be
  /// written.
  void save(const std::string& path) const;

  const ModelDescription& description() const { return description_; }  ///< the trained model's
  Device device() const { return device_; }
  /// "quantised GCN 1433-16-7 4 bits in integers".
  std::string describe() const;

  /// Batch on the graph's device: the model's device, or the CPU; IntegerBatch::to copies it to the model's.
  /// `x` [N, features] is raw user data (ModelDescription::prepare is applied here). With parallel edges,
  /// which one bit cannot represent, the batch uses sums by bytes.
  IntegerBatch pack(const Graph& graph, const Features& x) const;
  /// The same for a model of graphs: graph g has the nodes offsets[g] to offsets[g + 1], int64 [G + 1] on the
  /// graph's device. `x` is ignored if the training generated node features (--node-features). Throws for
  /// invalid offsets (contents checked only on the CPU).
  IntegerBatch pack(const Graph& graph, const Tensor& offsets, const Features& x) const;
  /// float32 [N, outputs], or [G, outputs] for graphs: raw outputs, to be passed to
  /// ModelDescription::finish(). Throws for a batch on another device.
  Tensor operator()(const IntegerBatch& batch) const;

 private:
  IntegerModel(ModelDescription description, Device device, const IntegerModelOptions& options,
               detail::IntegerParts parts);
  bool sums_by_bits(const Csr& structure) const;
  IntegerRows neighbors_of(const Graph& graph) const;
  IntegerRows nodes_of(const Tensor& offsets, int64_t nodes, bool by_bits) const;

  ModelDescription description_;
  Device device_;
  IntegerModelOptions options_;
  std::shared_ptr<const detail::IntegerParts> parts_;
};

/// Whether this is a file of IntegerModel::save(). Throws DataError if it is not HDF5.
bool is_integer_model(const std::string& path);

}  // namespace adj
