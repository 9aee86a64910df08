// command/commands/projection_of_today.h - projections and sorts of find and findAndModify as later
// servers read them. They are for clients that speak OP_MSG: older ones mean what the old server
// did.
#pragma once

#include "bson/view.h"

namespace command {

// Whether a projection is one that $project makes (query/stage/computed_projection.h): it computes
// fields, or is written in a way that the old server did not know. Throws base::Error where it can
// be neither: 31253 and 31254 for a mixture, 31249 and 31250 for one path inside another, 15998,
// 16410, 31394, 40352, 40353 for paths that lead nowhere, 31256, 31274 to 31276 and 31395 for
// $elemMatch and the positional operator, 28667 for $slice, 17307, 17308 and 40218 for $meta, 51108
// for flags of a regular expression in $elemMatch. The parts that $project makes are examined
// there. `filter`: of the same request; with a $text there are scores.
bool is_computed_projection(bson::Doc projection, bson::Doc filter);

// Throws base::Error 13103 for too many fields, 15974, 15975 and 17312 for an order that is none,
// 40218 for a text score where there is none, and for paths as above.
void check_sort_of_today(bson::Doc sort, bson::Doc filter);

}  // namespace command
