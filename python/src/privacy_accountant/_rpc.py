# SPDX-License-Identifier: Apache-2.0
"""The services' methods on a channel, read from the API's descriptors; gRPC's two interfaces alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2

from . import proto as pb
from .proto import services_pb2

# The method that is called before all others, to see whether a daemon is there.
HELLO = "Check"


def _described() -> Iterator[tuple[str, descriptor_pb2.MethodDescriptorProto]]:
    file = descriptor_pb2.FileDescriptorProto()
    services_pb2.DESCRIPTOR.CopyToProto(file)
    for service in file.service:
        for method in service.method:
            yield f"/{file.package}.{service.name}/{method.name}", method


def methods(channel: Any) -> dict[str, Any]:
    """What calls each method, by its name, of which no two services have the same."""
    out = {HELLO: channel.unary_unary(f"/grpc.health.v1.Health/{HELLO}")}
    for path, method in _described():
        kind = ("stream"
                if method.client_streaming else "unary") + "_" + ("stream" if method.server_streaming else "unary")
        request, answer = (getattr(pb, t.rsplit(".", 1)[1]) for t in (method.input_type, method.output_type))
        out[method.name] = getattr(channel, kind)(
            path,
            request_serializer=request.SerializeToString,
            response_deserializer=answer.FromString,
        )
    return out
