#pragma once

#include <adjoint/data/dataset.h>

#include <span>
#include <string>
#include <vector>

namespace adj {

/// Columns `order` (0 to cols - 1, distinct) of dense or sparse features, on their device. Throws for
/// quantised ones.
Features select_columns(const Features& x, std::span<const int32_t> order);

/// Brings the features of a dataset, read from `file`, into the order of the columns `expected` that `origin`
/// (a checkpoint) was trained on, by their names; columns it does not know are passed over. What is reordered
/// or passed over is logged by name. If either side has no names, columns stay where they are, which is
/// logged too, as is what `encoder` fills gaps with otherwise than the dataset's own. Throws DataError "FILE:
/// nodes/x_names: …" naming the columns that are missing and those that are new, or whose type in the table
/// differs (different_types()), and for features in a file that need another order.
void match_features(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                    const FeatureEncoder& encoder, const std::string& origin);

/// The same for the columns of the edges' attribute "attr" ("edges/attr_names").
void match_attributes(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                      const FeatureEncoder& encoder, const std::string& origin);

/// Numbers the classes of a dataset, read from `file`, as `expected` by `origin` does for its `outputs`, by
/// their names: classes without names are named 0, 1, …, if the other side's names are numbers. Nodes of a
/// class that the model does not know become unlabelled, in no split; what changes is logged. Columns of
/// several labels come into the model's order; if it has one that the dataset lacks, the labels are removed,
/// which is logged too.
void match_classes(Dataset& data, const std::string& file, const std::vector<std::string>& expected,
                   int64_t outputs, const std::string& origin);

}  // namespace adj
