# SPDX-License-Identifier: Apache-2.0
"""Where the daemon is and how patient to be."""

from __future__ import annotations

import ipaddress
import os
import re
import warnings
from dataclasses import dataclass, replace
from typing import Any

import grpc

from ._contexts import chosen
from ._environment import misspelt
from ._local import LOG, SOCKET, NotServed, Served
from ._tls import TLSFiles
from ._token import Token
from ._trace import trace_context
from ._real import DEADLINE, SECONDS, positive
from ._whole import whole
from .errors import Unavailable

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
    origin: str = ""  # how the server's address came to be, in the words of an error
    server_name: str = ""  # expected in the daemon's certificate instead of the host
    served: Served | None = None  # the directory whose private daemon it is
    token: Token | None = None  # proves who calls

    @staticmethod
    def of(server: str | None, *, context: str | None = None, token_file: str | os.PathLike[str] | None = None,
           **rest: Any) -> Settings:
        """Checks them. What is not given is taken from the environment, as accountctl does: the server from
        ACCOUNTANT_SERVER, credentials from the files of ACCOUNTANT_TLS_…, a token from ACCOUNTANT_TOKEN_FILE
        or ACCOUNTANT_TOKEN; and if nothing says how to reach a daemon, from a context."""
        for text in misspelt(os.environ):
            warnings.warn(text, stacklevel=4)
        arguments = {"server": server, "credentials": rest["credentials"], "token_file": token_file,
                     "insecure": rest["insecure"]}
        way = chosen(context, next((name for name, value in arguments.items() if value), ""))
        files: TLSFiles | None
        if way is not None:
            rest["insecure"], files = way.insecure, way.files
            s = Settings(way.server, origin=f"the context {way.name!r}", token=way.token, **rest)
        else:
            found, files = os.environ.get("ACCOUNTANT_SERVER"), TLSFiles.of_environment() or None
            origin = "" if server else "ACCOUNTANT_SERVER" if found else "the default"
            s = Settings(server or found or DEFAULT_SERVER, origin=origin, token=Token.of(token_file), **rest)
        if s.credentials is None and files is not None:
            s = replace(s, credentials=files.credentials(), server_name=files.server_name)
        return s._checked()

    @staticmethod
    def of_directory(path: str | os.PathLike[str], **patience: Any) -> Settings:
        """Those of a private daemon, which serves a directory from now on."""
        unchecked = Settings("unix:" + SOCKET, principal="", credentials=None, insecure=False, **patience)
        unchecked._checked()  # before a daemon is started
        try:
            served = Served(path)
        except NotServed as e:
            raise Unavailable("Client.local", "", str(e)) from e
        return replace(unchecked, server=served.address, served=served)

    def _checked(self) -> Settings:
        s = self
        if s.principal and not _PRINCIPAL.fullmatch(s.principal):
            raise ValueError(f"principal: {s.principal!r}; allowed: 1 to 128 bytes of [A-Za-z0-9._@-]")
        s = replace(s, timeout=positive("timeout", s.timeout, SECONDS),
                    deadline=None if s.deadline is None else positive("deadline", s.deadline, DEADLINE),
                    backoff_min=positive("backoff_min", s.backoff_min, SECONDS),
                    backoff_max=positive("backoff_max", s.backoff_max, SECONDS))
        if s.max_attempts is not None:
            whole("max_attempts", s.max_attempts, 1)
        if s.backoff_min > s.backoff_max:
            raise ValueError(f"backoff_min, backoff_max: {s.backoff_min}, {s.backoff_max}; allowed: positive seconds "
                             "in this order")
        if s.token is not None and s.credentials is None and not s.local:
            raise ValueError(f"server: {s.server} with a token and without TLS; allowed: a loopback address, "
                             "unix:PATH or credentials: "
                             "a token in plain text could be read on the way")
        if s.credentials is None and not s.insecure and not s.local:
            raise ValueError(f"server: {s.server} without TLS; allowed: a loopback address, unix:PATH, credentials, "
                             "the files of ACCOUNTANT_TLS_CA, …_CERT and …_KEY, or insecure=True to go without "
                             "encryption")
        return s

    @property
    def local(self) -> bool:
        """Whether what is sent stays on this machine."""
        if self.server.startswith("unix:"):
            if self.server == "unix:":
                raise ValueError(f"server: {self.server!r}; allowed: HOST:PORT or unix:PATH")
            return True
        if "://" in self.server:
            raise ValueError(f"server: {self.server!r}; allowed: HOST:PORT or unix:PATH, without http://")
        host, separator, port = self.server.rpartition(":")
        if not (host and separator and port):
            raise ValueError(f"server: {self.server!r}; allowed: HOST:PORT or unix:PATH")
        try:
            return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def sought(self) -> str:
        """Where a daemon is sought, and why there."""
        return f"{self.server} ({self.origin})" if self.origin else self.server

    @property
    def remedy(self) -> str:
        """What to do if there is none."""
        if self.served is not None:
            return f"{os.path.join(self.served.directory, LOG)} is its log"
        where = ('say where it is: Client("HOST:PORT"), Client("unix:PATH"), the environment variable '
                 "ACCOUNTANT_SERVER, or accountctl login")
        if not self.local:
            return f"See whether it runs there, or {where}"
        address = re.sub("^unix:/(?!/)", "unix:///", self.server)
        listen = "" if self.server == DEFAULT_SERVER else f" --listen {address}"
        return f"Start one with `accountantd --data ./data{listen}`, or {where}"

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        said = trace_context()
        if self.principal:
            said = (("accountant-principal", self.principal), *said)
        return said if self.token is None else (*said, ("authorization", "Bearer " + self.token.now()))

    def token_now(self) -> str:
        """The token that a call made now would send; "" without one."""
        return "" if self.token is None else self.token.now()

    def channel(self, grpc_: Any) -> Any:
        """A channel of grpc or grpc.aio."""
        options: list[tuple[str, int | str]] = [
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
        if self.server_name:
            options.append(("grpc.ssl_target_name_override", self.server_name))
        if self.credentials is not None and not self.server.startswith("unix:"):  # a socket needs none
            return grpc_.secure_channel(self.server, self.credentials, options)
        return grpc_.insecure_channel(self.server, options)
