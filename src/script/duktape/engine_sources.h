// script/duktape/engine_sources.h - Duktape's functions, for the one file that compiles them.
#pragma once
#pragma GCC system_header

#include </usr/share/duktape/duktape.c>
