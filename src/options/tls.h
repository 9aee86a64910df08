// options/tls.h - TLS of the TCP port (wire spec 6.1; docs/security.md). The old server said SSL.
#pragma once

#include "options/option.h"

namespace options {

inline Text tls_mode({
    .name = "tlsMode",
    .yaml = {"net.tls.mode"},
    .old_names = {{.name = "sslMode",
                   .yaml = "net.ssl.mode",
                   .words = {{"disabled", "disabled"},
                             {"allowSSL", "allowTLS"},
                             {"preferSSL", "preferTLS"},
                             {"requireSSL", "requireTLS"}}},
                  {.name = "sslOnNormalPorts",
                   .yaml = "net.ssl.sslOnNormalPorts",
                   .switch_for = "requireTLS"}},
    .group = Group::security,
    .default_value = "disabled",
    .choices = {"disabled", "allowTLS", "preferTLS", "requireTLS"},
    .help = "Encrypt connections over TCP: not at all; where the client begins with TLS (allowTLS "
            "and preferTLS are the same here); or only such clients (requireTLS). Default "
            "{default}. The Unix socket stays as it is.",
    .parameter = Parameter::read_only,
    .parameter_name = "sslMode",
});

inline Text tls_certificate_key_file({
    .name = "tlsCertificateKeyFile",
    .yaml = {"net.tls.certificateKeyFile"},
    .old_names = {{.name = "sslPEMKeyFile", .yaml = "net.ssl.PEMKeyFile"}},
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
    .old_names = {{.name = "sslPEMKeyPassword", .yaml = "net.ssl.PEMKeyPassword"}},
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
    .old_names = {{.name = "sslCAFile", .yaml = "net.ssl.CAFile"}},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the authorities that sign clients' certificates, and those of other "
            "members of a set. With it every client has to show one; without it none is asked "
            "for.",
});

inline Text tls_crl_file({
    .name = "tlsCRLFile",
    .yaml = {"net.tls.CRLFile"},
    .old_names = {{.name = "sslCRLFile", .yaml = "net.ssl.CRLFile"}},
    .group = Group::security,
    .value_name = "FILE",
    .default_value = "",
    .default_text = "none",
    .help = "PEM file with the authorities' list of revoked certificates. Needs --tlsCAFile.",
});

inline Flag tls_allow_without_certificates({
    .name = "tlsAllowConnectionsWithoutCertificates",
    .yaml = {"net.tls.allowConnectionsWithoutCertificates"},
    .old_names = {{.name = "sslAllowConnectionsWithoutCertificates",
                   .yaml = "net.ssl.allowConnectionsWithoutCertificates"},
                  {.name = "sslWeakCertificateValidation",
                   .yaml = "net.ssl.weakCertificateValidation"}},
    .group = Group::security,
    .help = "With --tlsCAFile: clients may leave their certificate out. One that is shown must be "
            "good.",
});

inline Text tls_disabled_protocols({
    .name = "tlsDisabledProtocols",
    .yaml = {"net.tls.disabledProtocols"},
    .old_names = {{.name = "sslDisabledProtocols", .yaml = "net.ssl.disabledProtocols"}},
    .group = Group::security,
    .value_name = "NAMES",
    .default_value = "",
    .default_text = "none",
    .help = "Protocols not to speak, separated by commas: TLS1_2 or TLS1_3. TLS1_0 and TLS1_1 are "
            "never spoken. Default {default}.",
});

}  // namespace options
