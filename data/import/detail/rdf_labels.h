#pragma once

#include <adjoint/data/import/detail/triple_list.h>
#include <adjoint/data/import/rdf.h>

namespace adj::detail {

/// Sets labels, classes and splits of the nodes; `items` has no splits then if `labels` has neither test nor
/// random. A line to `notes` for each file.
void read_rdf_labels(const RdfLabels& labels, const NodeIds& nodes, ItemTable& items,
                     std::vector<std::string>& notes);

/// Warns of each predicate of whose edges at labelled nodes, in either direction, at least 9 in 10 join them
/// to what is called as their class, of two classes or more: a model would read the label there.
void warn_of_label_edges(const ItemTable& items, const NodeIds& nodes, const NodeIds& predicates,
                         const std::vector<RelationEdges>& edges);

}  // namespace adj::detail
