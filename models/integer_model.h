#pragma once

#include "trained_model.h"
#include <adjoint/kernels/bits/adjacency_bits.h>
#include <adjoint/kernels/bits/byte_sums.h>

#include <optional>

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

/// A graph and its features as an IntegerModel takes them: structure, and features of as many bits as the
/// first layer reads.
struct IntegerBatch {
  Csr structure;                       ///< with the self-loops that the model sums over
  Tensor row_scale;                    ///< float32 [N]: 1 / entries of the row, or absent: a sum
  std::optional<BitTensor> adjacency;  ///< of sums by bits
  std::optional<BitSteps> steps;
  BitTensor x_bits;  ///< along columns: of sums by bits
  ByteTensor x;      ///< of sums by bytes

  int64_t nodes() const { return structure.rows; }
  /// Bytes of structure and features.
  int64_t bytes() const;
};

/// A model that train_qgnn trained, computed in integers from end to end: bits in, products and sums of bits
/// with the ends of layers (bias, batch norm folded into it, relu, quantisation) fused, and float32 logits
/// out. It gives what the trained model gives in evaluation, but where float32 sums of the latter are rounded
/// across the border of two integers.
///
///   const TrainedModel trained = load_trained("q.h5", device);
///   const IntegerModel model(trained);
///   const Tensor logits = model(model.pack(graph, features));
///
/// Nothing in it changes: any number of threads may use it at once.
class IntegerModel {
 public:
  /// Throws adj::Error for a model of another family, of layers that are not quantised (32 bits), and where a
  /// scale or zero is none that a training writes.
  explicit IntegerModel(const TrainedModel& trained, const IntegerModelOptions& options = {});

  /// On the graph's device, which is the model's or the CPU. `x` [N, features] as they are in the user's data
  /// (TrainedModel::prepare is done here). With sums by bits and parallel edges, which one bit cannot hold,
  /// the batch is one of sums by bytes.
  IntegerBatch pack(const Graph& graph, const Features& x) const;
  /// float32 [N, outputs]: what the model gives, of which TrainedModel::finish() makes its outputs.
  Tensor operator()(const IntegerBatch& batch) const;
  std::string describe() const;

 private:
  struct Quantizer {
    int bits;
    Tensor scale, zero;  // float32 [1]
  };
  /// A linear map and what is fused into it.
  struct Linear {
    Quantizer input;
    BitTensor weight;     // along columns, of [in, out]
    BitTensor bytes;      // the same, as bytes
    Tensor scale, shift;  // float32 [out]: of a batch norm and a bias; scale may be absent
    Activation activation = Activation::none;
  };
  struct Layer {
    Quantizer input;      // what is summed
    Tensor scale, shift;  // float32 [in]: of the sums' batch norm, or absent
    Linear sums;
    std::optional<Linear> hidden;  // GIN's second
    const Linear& last() const { return hidden ? *hidden : sums; }
  };

  bool sums_by_bits(const Csr& structure) const;

  TrainedModel trained_;
  IntegerModelOptions options_;
  bool mean_;  // else a sum
  std::vector<Layer> layers_;
};

}  // namespace adj
