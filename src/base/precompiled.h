// base/precompiled.h - the outside headers that most files read, compiled once for all of them.
//
// The build puts it in front of every file (site_scons/rooms.py). No file may count on that: each
// includes what it uses, for the compilers that get no precompiled header. Headers of our own do
// not belong here, since each change of one would compile everything.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>
