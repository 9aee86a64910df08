// options/tls.h - TLS of the TCP port (wire spec 6.1; docs/security.md). Each has the name of today
// and that of the old server, which said SSL.
#pragma once

#include "options/option.h"

namespace options {

inline Text tls_mode({
    .name = "tlsMode",
    .yaml = {"net.tls.mode"},
    .group = Group::security,
    .default_value = "disabled",
    .choices = {"disabled", "allowTLS", "preferTLS", "requireTLS"},
    .help = "Encrypt connections over TCP: not at all; where the client begins with TLS (allowTLS "
            "and preferTLS are the same here); or only such clients (requireTLS). Default "
            "{default}. The Unix socket stays as it is.",
});

inline Text tls_certificate_key_file({
    .name = "tlsCertificateKeyFile",
    .yaml = {"net.tls.certificateKeyFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the server's certificate, those that signed it, and its private key. "
            "Any mode but disabled needs one.",
});

inline Text tls_certificate_key_file_password({
    .name = "tlsCertificateKeyFilePassword",
    .yaml = {"net.tls.certificateKeyFilePassword"},
    .group = Group::security,
    .value_name = "PASSWORD",
    .default_value = "",
    .default_text = "none",
    .help = "What the private key is encrypted with. Better in a configuration file that only the "
            "server may read: other users of the machine see command lines.",
    .secret = true,
});

inline Text tls_ca_file({
    .name = "tlsCAFile",
    .yaml = {"net.tls.CAFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the authorities that sign clients' certificates. With it every client "
            "has to show one; without it none is asked for.",
});

inline Text tls_crl_file({
    .name = "tlsCRLFile",
    .yaml = {"net.tls.CRLFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the authorities' list of revoked certificates. Needs --tlsCAFile.",
});

inline Flag tls_allow_without_certificates({
    .name = "tlsAllowConnectionsWithoutCertificates",
    .yaml = {"net.tls.allowConnectionsWithoutCertificates"},
    .group = Group::security,
    .help = "With --tlsCAFile: clients may leave their certificate out. One that is shown must be "
            "good.",
});

inline Text tls_disabled_protocols({
    .name = "tlsDisabledProtocols",
    .yaml = {"net.tls.disabledProtocols"},
    .group = Group::security,
    .value_name = "NAMES",
    .default_value = "",
    .default_text = "none",
    .help = "Protocols not to speak, separated by commas: TLS1_2 or TLS1_3. TLS1_0 and TLS1_1 are "
            "never spoken. Default {default}.",
});

// The old names.

inline Text ssl_mode({
    .name = "sslMode",
    .yaml = {"net.ssl.mode"},
    .group = Group::security,
    .default_value = "disabled",
    .choices = {"disabled", "allowSSL", "preferSSL", "requireSSL"},
    .help = "The old name of --tlsMode.",
    .parameter = Parameter::read_only,
    .hidden = true,
});

inline Flag ssl_on_normal_ports({
    .name = "sslOnNormalPorts",
    .yaml = {"net.ssl.sslOnNormalPorts"},
    .group = Group::security,
    .help = "The oldest name of --tlsMode requireTLS.",
    .hidden = true,
});

inline Text ssl_pem_key_file({
    .name = "sslPEMKeyFile",
    .yaml = {"net.ssl.PEMKeyFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .help = "The old name of --tlsCertificateKeyFile.",
    .hidden = true,
});

inline Text ssl_pem_key_password({
    .name = "sslPEMKeyPassword",
    .yaml = {"net.ssl.PEMKeyPassword"},
    .group = Group::security,
    .value_name = "PASSWORD",
    .default_value = "",
    .help = "The old name of --tlsCertificateKeyFilePassword.",
    .hidden = true,
    .secret = true,
});

inline Text ssl_ca_file({
    .name = "sslCAFile",
    .yaml = {"net.ssl.CAFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .help = "The old name of --tlsCAFile.",
    .hidden = true,
});

inline Text ssl_crl_file({
    .name = "sslCRLFile",
    .yaml = {"net.ssl.CRLFile"},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .help = "The old name of --tlsCRLFile.",
    .hidden = true,
});

inline Flag ssl_allow_without_certificates({
    .name = "sslAllowConnectionsWithoutCertificates",
    .yaml = {"net.ssl.allowConnectionsWithoutCertificates"},
    .group = Group::security,
    .help = "The old name of --tlsAllowConnectionsWithoutCertificates.",
    .hidden = true,
});

inline Flag ssl_weak_certificate_validation({
    .name = "sslWeakCertificateValidation",
    .yaml = {"net.ssl.weakCertificateValidation"},
    .group = Group::security,
    .help = "The oldest name of --tlsAllowConnectionsWithoutCertificates.",
    .hidden = true,
});

inline Text ssl_disabled_protocols({
    .name = "sslDisabledProtocols",
    .yaml = {"net.ssl.disabledProtocols"},
    .group = Group::security,
    .value_name = "NAMES",
    .default_value = "",
    .help = "The old name of --tlsDisabledProtocols.",
    .hidden = true,
});

}  // namespace options
