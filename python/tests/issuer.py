# SPDX-License-Identifier: Apache-2.0
"""An issuer of tokens for tests: an RSA key, its public half for the daemon, and signatures by RFC 8017 §8.2."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from pathlib import Path
from typing import Any

URL, AUDIENCE = "https://issuer.example.org", "accountant"
LEEWAY = 30  # seconds that the daemon adds to a token's end

# Of no other use: made for these tests.
_N = int(
    "eec2b5d2e7b918e03851d5b5aa76d876ae70646d823dfe7295789aba268023dcb2b0a2bd9907d7f450a26be1e3745ccf48ac"
    "63e4313b3802ad40fea5b0097a7f3734f212831be5ac8bb952b3ce0bed1fe2e4b245cf301b106ed1e2a1965fb3c0836deec0"
    "0be7e64805c3fb20f049b50562a9eb988fefb6def3a21084858d50951ed971f835bca013fb0f2a8cf520838406b723210d75"
    "3093e0839d9109a29cc00a398fe323c6d27ef06e8c7d26cc0b7430d31e5fac0dad12bc1715d38f579848c9d18699f3fcaae4"
    "ada1cabce9b933e9b4c3f336cb4f4057420f88becce15efa4b7205d0ef15285cb9366a1b3680c3acac13f17e773c9b4a1cc4"
    "50f37057a705", 16)
_D = int(
    "2ba72d63b56abdedd6d63d7ed4bf1c661c901f887718db11fb9a9c9d7ec70c67804333c9faf5f869aaa97b948607e32521ea"
    "24ec5684f78163c85f968f08389d944c299b315df320d83e06ad29b5bc01c9b3db1550e3807b416bbde621ce7718b25ef1d9"
    "2a841872201dbc27424f93997bb7ca03af835a39caad1d9c81277c6d20d79e9c3e5430ace706095c5660fe52ef5ae80b4b87"
    "2b15a87411fcae4a49a36be994d2b4d981cbae9ca693c1ecd8b7b3b0c4547483cae618173c1f7e2fc145bc18931e974f5865"
    "9f122014dc9468e94d596de423e4e8048354f8fb1443f932cbcaa2dde17d9ca455209991888d590fcf71f8e1741634b63044"
    "113bd8bf87a9", 16)


def _b64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def keys(path: Path) -> Path:
    """Writes the public key as a JSON Web Key Set."""
    n = _b64(_N.to_bytes(256, "big"))
    path.write_text(json.dumps({"keys": [{"kty": "RSA", "kid": "test", "use": "sig", "n": n, "e": "AQAB"}]}))
    return path


def token(subject: str, seconds: float = 3600.0, **claims: Any) -> str:
    """A token that counts for so many seconds."""
    now = time.time()
    claims = {"iss": URL, "sub": subject, "aud": AUDIENCE, "iat": int(now), "exp": int(now + seconds) - LEEWAY} | claims
    signed = _b64(json.dumps({"alg": "RS256", "kid": "test"}).encode()) + "." + _b64(json.dumps(claims).encode())
    digest = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(signed.encode()).digest()
    padded = b"\x00\x01" + b"\xff" * (256 - 3 - len(digest)) + b"\x00" + digest
    return signed + "." + _b64(pow(int.from_bytes(padded, "big"), _D, _N).to_bytes(256, "big"))
