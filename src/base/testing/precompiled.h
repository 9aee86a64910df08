// base/testing/precompiled.h - the same for tests, which are compiled with other options.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/precompiled.h"
