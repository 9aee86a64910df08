// monitoring/metrics.h - the metrics that GET /metrics shows: their names, and where serverStatus
// has their values.
//
// The room monitoring: what programs that watch a server read over HTTP. It is a client of the
// commands as any other, and knows none of the rooms behind them.
//
// A name is "mongodb_" and the path in serverStatus, with underscores between words; "metrics",
// above several sections there, is left out. A unit, seconds or bytes, ends the name; serverStatus
// has others, and Unit::factor leads from them. Values that add up to something share a name and
// differ in a label; one that is a part of another has a name of its own. Counters begin with the
// process.
//
// Dashboards and alerts have these names: none changes its meaning.
#pragma once

#include <span>

namespace monitoring {

struct Unit {
    const char* name = "";  // the end of the metric's name; empty: a number of things
    double factor = 1;
};

// One value for each of several fields.
struct Label {
    const char* name = "";
    const char* keys = "";   // those fields, with spaces between them; empty: all there are
    const char* field = "";  // the values are in there; empty: the fields are the values
};

struct Metric {
    enum class Type { gauge, counter };

    Type type;
    const char* name;  // that of a counter without "_total"
    const char* help;
    const char* path;  // in serverStatus: "connections.current"
    Unit unit = {};
    Label label = {};  // without a name: the metric has one value, at `path`
};

std::span<const Metric> all_metrics();

}  // namespace monitoring
