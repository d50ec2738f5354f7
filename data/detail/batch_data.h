#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>

#include <optional>
#include <string_view>

// What loaders know of nodes (or graphs) beside the structure, and what a batch has of it. Errors begin with
// the loader's name.

namespace adj::detail {

/// The dataset's features, which are read from their file where they were left there, for batches on `device`
/// (absent: the dataset's). Throws where it has none.
std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device);
/// Throws unless these are features of so many nodes.
void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes);
/// x->gather(), which a user may have written: throws unless it gave as many rows as there are nodes, on
/// `device`.
Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& nodes, Device device);

/// Throws unless `labels` are absent, [rows] or [rows, T].
void check_labels(std::string_view loader, const Tensor& labels, int64_t rows);
/// Row k is that of at[k], int32, on `device`; absent where labels are.
Tensor gather_labels(const Tensor& labels, const Tensor& at, Device device);

}  // namespace adj::detail
