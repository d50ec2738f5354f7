#pragma once

#include "options.h"

namespace adj::apps {

/// `predict` for a checkpoint of train_recommend: writes the best items for users of --data, or those of
/// --nodes, without the interactions of the training and of --data. Throws UsageError for options that are of
/// other models.
void recommend(const PredictOptions& options);

}  // namespace adj::apps
