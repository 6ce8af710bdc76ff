"""Where the daemon is and how patient to be."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from typing import Any

import grpc

DEFAULT_SERVER = "127.0.0.1:7878"
_PRINCIPAL = re.compile(r"[A-Za-z0-9._@-]{1,128}")


@dataclass(frozen=True)
class Settings:
    """The arguments of a Client; its documentation says what they mean."""

    server: str
    principal: str
    credentials: grpc.ChannelCredentials | None
    insecure: bool
    timeout: float
    deadline: float | None
    max_attempts: int | None
    backoff_min: float
    backoff_max: float

    @staticmethod
    def of(server: str | None, **rest: Any) -> Settings:
        """Checks them; without a server it is that of ACCOUNTANT_SERVER, or this machine's."""
        s = Settings(server or os.environ.get("ACCOUNTANT_SERVER") or DEFAULT_SERVER, **rest)
        if s.principal and not _PRINCIPAL.fullmatch(s.principal):
            raise ValueError(f"principal: {s.principal!r}; allowed: 1 to 128 bytes of [A-Za-z0-9._@-]")
        if not s.timeout > 0:
            raise ValueError(f"timeout: {s.timeout}; allowed: a positive number of seconds")
        if s.deadline is not None and not s.deadline > 0:
            raise ValueError(f"deadline: {s.deadline}; allowed: a positive number of seconds, or None for no bound")
        if s.max_attempts is not None and s.max_attempts < 1:
            raise ValueError(f"max_attempts: {s.max_attempts}; allowed: a positive number, or None for no bound")
        if not 0 < s.backoff_min <= s.backoff_max:
            raise ValueError(f"backoff_min, backoff_max: {s.backoff_min}, {s.backoff_max}; allowed: positive seconds in this order")
        if s.credentials is None and not s.insecure and not s.local:
            raise ValueError(f"server: {s.server} without TLS; allowed: a loopback address, unix:PATH, credentials, or insecure=True")
        return s

    @property
    def local(self) -> bool:
        """Whether what is sent stays on this machine."""
        if self.server.startswith("unix:"):
            if self.server == "unix:":
                raise ValueError(f"server: {self.server!r}; allowed: HOST:PORT or unix:PATH")
            return True
        host, separator, port = self.server.rpartition(":")
        if not (host and separator and port):
            raise ValueError(f"server: {self.server!r}; allowed: HOST:PORT or unix:PATH")
        try:
            return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        return (("accountant-principal", self.principal),) if self.principal else ()

    def channel(self, grpc_: Any) -> Any:
        """A channel of grpc or grpc.aio."""
        options = [
            ("grpc.keepalive_time_ms", 30_000),  # finds connections that died without a word
            ("grpc.keepalive_timeout_ms", 10_000),
            # The same patience below as above: gRPC's own waits up to 120 s before it
            # looks again for a daemon that was restarted.
            ("grpc.initial_reconnect_backoff_ms", round(1000 * self.backoff_min)),
            ("grpc.min_reconnect_backoff_ms", round(1000 * self.timeout)),
            ("grpc.max_reconnect_backoff_ms", round(1000 * self.backoff_max)),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if self.local:
            options.append(("grpc.enable_http_proxy", 0))
        if self.credentials is not None:
            return grpc_.secure_channel(self.server, self.credentials, options)
        return grpc_.insecure_channel(self.server, options)
