#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>
#include <adjoint/data/loader/loader.h>
#include <adjoint/graph/block.h>

#include <optional>
#include <string_view>

// Node (or graph) data of loaders, and its gathering for batches. Errors begin with the loader's name.

namespace adj::detail {

/// int32 or int64 [K], in [0, count), none twice, as int32 on `device`. Throws otherwise, naming the place in
/// `what`.
Tensor checked_items(std::string_view loader, std::string_view what, const Tensor& items, int64_t count,
                     Device device);
/// 0, …, count - 1: int32, on the CPU.
Tensor numbers(int64_t count);

/// The dataset's features, which are read from their file where they were left there, for batches on `device`
/// (absent: the dataset's). Throws where it has none.
std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device);
/// Throws unless these are features of `rows` nodes.
void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes);
/// x->gather(), which a user may have written, by the copy of the nodes that it reads: `here`, or `there` on
/// `device`. Throws unless it gave as many rows as there are nodes, on `device`.
Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& here,
                         const Tensor& there, Device device);

/// Throws unless `labels` are absent, [rows] or [rows, T].
void check_labels(std::string_view loader, const Tensor& labels, int64_t rows);
/// Row k is that of at[k], int32, where the labels are; absent where labels are.
Tensor gather_labels(const Tensor& labels, const Tensor& at);

/// Throws where a graph on `home` is to be sampled for another device than it is on, but for the CPU.
void check_sampled_for(std::string_view loader, Device home, Device device);
/// Makes what options ask of a batch's structure.
void derive(const LoaderOptions& options, const Graph& graph);
void derive(const LoaderOptions& options, const std::vector<Block>& blocks);

}  // namespace adj::detail
