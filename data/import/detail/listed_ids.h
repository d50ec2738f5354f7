#pragma once

#include <adjoint/data/import/node_ids.h>

#include <string>
#include <vector>

namespace adj::detail {

/// A target of edges that is a list of ids, as "bob;cid" or "['bob', 'cid']", where lists of neighbours were
/// taken as edges: no source is one, and more than half of the items of such targets are `sources`, names.
/// `is_source`: by number of `targets`, where these have sources as well; else shorter. `bracketed`: only
/// lists in brackets. Empty: there is none.
std::string listed_ids(const NodeIds& targets, const std::vector<bool>& is_source, const NodeIds& sources,
                       bool bracketed);

}  // namespace adj::detail
