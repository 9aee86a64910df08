// server/start_messages.h - what the server says about itself and its surroundings when it starts
// (wire spec 6.3), and the limits it takes from them.
#pragma once

#include <string>

#include "server/options.h"

namespace server {

std::string host_name();
// Whether only this machine can connect to it.
bool is_local_address(const std::string& address);

// "MongoDB starting ...", versions, options.
void log_banner(const CommandLine& command_line);
// The server's identity, for the beginning of a log file after a rotation.
void log_process();
// Logs what options take from the memory that the process may have, where a control group limits
// it.
void log_memory();
// Warnings that getLog startupWarnings repeats: limits of the system that are too low, an address
// open to others, options without effect.
void log_start_warnings(const CommandLine& command_line);
// The configured number, lowered to what the limit on open files allows.
int64_t usable_connections();

// The name by which a set that is initiated without one calls this server: where only the machine
// itself can connect, that by which it does.
std::string reachable_name();

}  // namespace server
