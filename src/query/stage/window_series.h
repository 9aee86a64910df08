// query/stage/window_series.h - window functions of series: $derivative $integral $expMovingAvg
// $locf $linearFill.
#pragma once

#include <memory>

#include "query/stage/window_function.h"

namespace query {

// Null where `function` is none of these. Throws base::Error 9 for what is wrong with it, 5371601
// for a window where there is none, 605001 without the sort that it needs.
std::unique_ptr<WindowFunction> parse_series_function(const Value& function, const Value& window,
                                                      const WindowContext& context, Names& names);

}  // namespace query
