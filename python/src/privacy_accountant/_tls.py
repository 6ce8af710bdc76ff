# SPDX-License-Identifier: Apache-2.0
"""TLS from the environment, by accountctl's rules."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass

import grpc


@dataclass(frozen=True)
class TLSFiles:
    """The PEM files of a client's TLS: authorities to trust instead of the system's, a
    certificate of the client's own with its key, and the name expected in the daemon's
    certificate instead of the host. They are read once."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    server_name: str = ""

    @staticmethod
    def of_environment() -> TLSFiles:
        """What accountctl's --tls-ca, --tls-cert, --tls-key and --tls-server-name take from there."""
        names = ("ca", "cert", "key", "server_name")
        return TLSFiles(**{name: os.environ.get("ACCOUNTANT_TLS_" + name.upper(), "") for name in names})

    def __bool__(self) -> bool:
        return self != TLSFiles()

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files. Errors are ValueErrors that name the file."""
        if bool(self.cert) != bool(self.key):
            raise ValueError(f"TLS certificate and key: {self.cert!r} and {self.key!r}; allowed: both or neither")
        check = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if self.ca:
            try:
                check.load_verify_locations(self.ca)
            except (OSError, ssl.SSLError) as e:
                raise ValueError(f"TLS authorities: {self.ca}: {e}; allowed: a PEM file of certificates") from e
        if self.cert:
            try:
                check.load_cert_chain(self.cert, self.key, password="")  # it would ask on the terminal
            except (OSError, ssl.SSLError) as e:
                raise ValueError(f"TLS certificate and key: {self.cert} and {self.key}: {e}; "
                                 "allowed: PEM files of a certificate and its key, without a password") from e
        # gRPC by itself would trust the authorities that came with it, not the system's.
        authorities = self.ca or ssl.get_default_verify_paths().cafile
        return grpc.ssl_channel_credentials(_content(authorities), _content(self.key), _content(self.cert))


def _content(name: str | None) -> bytes | None:
    if not name:
        return None
    with open(name, "rb") as f:
        return f.read()
