#pragma once

#include <adjoint/data/dataset.h>
#include <adjoint/data/loader/feature_store.h>

#include <optional>
#include <string_view>

// Node (or graph) data of loaders, and its gathering for batches. Errors begin with the loader's name.

namespace adj::detail {

/// The dataset's features for batches on `device` (absent: the dataset's device); read from their file if
/// they were left there. Throws if there are none.
std::shared_ptr<const FeatureStore> features_of(std::string_view loader, const Dataset& data,
                                                std::optional<Device> device);
/// Throws unless these are features of `rows` nodes.
void check_features(std::string_view loader, const std::shared_ptr<const FeatureStore>& x, int64_t nodes);
/// x->gather() with a check for user-defined stores: throws unless the result has one row per node, on
/// `device`.
Features gather_features(std::string_view loader, const FeatureStore& x, const Tensor& nodes, Device device);

/// Throws unless `labels` are absent, [rows] or [rows, T].
void check_labels(std::string_view loader, const Tensor& labels, int64_t rows);
/// Row k is row at[k] (int32) of the labels, on `device`; absent if labels are.
Tensor gather_labels(const Tensor& labels, const Tensor& at, Device device);

}  // namespace adj::detail
