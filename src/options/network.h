// options/network.h - where the server listens, and for how many (wire spec 6.1).
#pragma once

#include "options/option.h"

namespace options {

inline Integer port({
    .name = "port",
    .yaml = {"net.port"},
    .group = Group::network,
    .value_name = "PORT",
    .default_value = 27017,
    .range = Range{0, 65535},
    .range_error = "bad --port number",
    .help = "TCP port, {low} to {high}; 0 takes any free one. Default {default}.",
});

inline Text bind_ip({
    .name = "bind_ip",
    .yaml = {"net.bindIp"},
    .group = Group::network,
    .value_name = "ADDRESSES",
    .default_value = "127.0.0.1",
    .help = "Addresses to listen on, separated by commas. Default {default}: only programs on this "
            "machine can connect. Open it wider only with --auth.",
});

inline Flag ipv6({
    .name = "ipv6",
    .yaml = {"net.ipv6"},
    .group = Group::network,
    .help = "Use IPv6 addresses too. Default {default}.",
});

inline Integer max_connections({
    .name = "maxConns",
    .yaml = {"net.maxIncomingConnections"},
    .group = Group::network,
    .value_name = "N",
    .default_value = 1'000'000,
    .range = Range{5, 9e18},
    .range_error = "maxConns has to be at least 5",
    .help = "Close connections beyond this number at once. Default {default}, lowered to what the "
            "limit on open files allows. An idle connection costs about 4 KB of memory here.",
});

inline Flag no_unix_socket({
    .name = "nounixsocket",
    .yaml = {"net.unixDomainSocket.enabled"},
    .yaml_opposite = true,
    .group = Group::network,
    .help = "Do not listen on a Unix socket. Default: it does.",
});

inline Text unix_socket_prefix({
    .name = "unixSocketPrefix",
    .yaml = {"net.unixDomainSocket.pathPrefix"},
    .group = Group::network,
    .value_name = "DIR",
    .default_value = "/tmp",
    .help = "Directory of the Unix socket mongodb-PORT.sock. Default {default}.",
});

// The port for monitoring programs (monitoring/port.h).
inline Integer metrics_port({
    .name = "metricsPort",
    .yaml = {"net.metrics.port"},
    .group = Group::network,
    .value_name = "PORT",
    .default_value = 0,
    .default_text = "none",
    .range = Range{0, 65535},
    .range_error = "bad --metricsPort number",
    .help = "TCP port of GET /metrics: serverStatus as OpenMetrics text, over HTTP or, with "
            "--tlsMode, HTTPS. With --auth it asks for a login by the Basic scheme. Default "
            "{default}.",
});

inline Text metrics_bind_ip({
    .name = "metricsBindIp",
    .yaml = {"net.metrics.bindIp"},
    .group = Group::network,
    .value_name = "ADDRESSES",
    .default_value = "127.0.0.1",
    .help = "Addresses of --metricsPort. Default {default}; others need --auth and --tlsMode.",
});

}  // namespace options
