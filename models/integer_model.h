#pragma once

#include "integer_batch.h"
#include "integer_parts.h"
#include "trained_model.h"

namespace adj {

/// How an IntegerModel sums over neighbours; the results are the same to the bit. `bits`: as a product of the
/// adjacency matrix, one bit an entry, by tensor cores (QGTC, section 4.1): for a GPU and batches whose rows
/// have many entries. `bytes`: by gathers of rows of bytes.
enum class IntegerSums : uint8_t { automatic, bits, bytes };

struct IntegerModelOptions {
  IntegerSums sums = IntegerSums::automatic;
  bool skip_steps =
      true;  ///< leave out steps of the adjacency without a bit (zero-tile jumping, section 4.3)
  bool share_steps = true;  ///< read the adjacency once for several bit planes (tile reuse, section 4.4)
};

/// A model that train_qgnn or train_graph_qgin trained, computed in integers from end to end: bits in,
/// products and sums of bits with the ends of layers (bias, batch norm folded into it, relu, quantisation)
/// fused, and float32 logits out. It gives what the trained model gives in evaluation, but where float32 sums
/// of the latter are rounded across the border of two integers.
///
///   const IntegerModel model(load_trained("q.h5", device));
///   const Tensor logits = model(model.pack(graph, features).to(device));
///
/// Nothing in it changes: any number of threads may use it at once.
class IntegerModel {
 public:
  /// Throws adj::Error for a model of another family, of layers that are not quantised (32 bits), with bits
  /// by node, whose integers have no scale that a sum could share, and where a scale or zero is none that a
  /// training writes.
  explicit IntegerModel(const TrainedModel& trained, const IntegerModelOptions& options = {});

  /// Reads what save() wrote: the same results to the bit. Throws DataError "FILE: PLACE: …" for a file that
  /// lacks an entry or has one more, for other types, shapes and bits than its facts say, for scales that are
  /// not finite and above 0 and zeros out of range.
  static IntegerModel load(const std::string& path, Device device = Device::cpu(),
                           const IntegerModelOptions& options = {});
  /// Writes weights as bit tensors, and all else that predictions need. Replaces `path` in one step. Throws
  /// adj::Error for a model that is not a checkpoint's, DataError where the file cannot be written.
  void save(const std::string& path) const;

  const ModelDescription& description() const { return description_; }
  Device device() const { return device_; }
  /// "quantised GCN 1433-16-7 4 bits in integers".
  std::string describe() const;

  /// On the graph's device: the model's, or the CPU, from where IntegerBatch::to or carried_to brings it to
  /// the model's. `x` [N, features] as they are in the user's data (ModelDescription::prepare is done here).
  /// With sums by bits and parallel edges, which one bit cannot hold, the batch is one of sums by bytes.
  IntegerBatch pack(const Graph& graph, const Features& x) const;
  /// Likewise many graphs, of a model of such: graph g has the nodes offsets[g] to offsets[g + 1], int64 [G +
  /// 1] on the graph's device. Where the training made its own features (--node-features), `x` is not looked
  /// at. Throws for offsets that do not fit (contents checked on the CPU alone).
  IntegerBatch pack(const Graph& graph, const Tensor& offsets, const Features& x) const;
  /// float32 [N, outputs], or [G, outputs] of graphs: what the model gives, of which
  /// ModelDescription::finish() makes its outputs. Throws for a batch on another device.
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
  detail::IntegerParts parts_;
  detail::IntegerRange packed_by_;  // the first range, on the CPU
};

/// Is this a file of IntegerModel::save()? Throws DataError where it is none of HDF5.
bool is_integer_model(const std::string& path);

}  // namespace adj
