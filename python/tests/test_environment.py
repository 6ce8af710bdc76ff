# SPDX-License-Identifier: Apache-2.0
"""Environment variables that nothing reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from privacy_accountant import Client
from privacy_accountant._environment import PREFIX, VARIABLES, misspelt


def test_kubernetes_and_known_names_pass() -> None:
    kubernetes = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_GRPC", "PORT", "PORT_7878_TCP", "PORT_7878_TCP_PROTO",
                  "PORT_7878_TCP_PORT", "PORT_7878_TCP_ADDR", "HEADLESS_SERVICE_HOST"]
    assert misspelt([PREFIX + n for n in (*kubernetes, *VARIABLES)] + ["HOME", "ACCOUNTANTD"]) == []


@pytest.mark.parametrize(("name", "nearest"), [("SEVER", "SERVER"), ("TLS_CRT", "TLS_CERT"), ("LEDGR", "LEDGER")])
def test_misspelt_names_are_told(name: str, nearest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PREFIX + name, "secret")
    with pytest.warns(UserWarning, match=f"{PREFIX}{name}.*; did you mean {PREFIX}{nearest}\\?$") as told:
        Client("127.0.0.1:1").close()
    assert not any("secret" in str(w.message) for w in told)


@pytest.mark.parametrize("name", ["PASSWORD", "TIMEOUT", "X", "", "HTML", "LOG_FILE", "USER", "DATABASE_URL", "HOST"])
def test_nothing_far_fetched_is_suggested(name: str) -> None:
    assert misspelt([PREFIX + name]) == [f"environment variable {PREFIX + name!r} is not read by anything"]


def test_other_names_of_the_same_words_are_suggested() -> None:
    for name, meant in {"DATA_DIR": "DATA", "TLS_SERVER": "TLS_SERVER_NAME", "SREVER": "SERVER",
                        "LOG": "LOG_FORMAT or ACCOUNTANT_LOG_LEVEL"}.items():
        assert misspelt([PREFIX + name])[0].endswith(f"; did you mean {PREFIX}{meant}?")


def test_the_names_are_those_of_the_other_programs() -> None:
    go = Path(__file__).parents[2] / "internal/version/environment.go"
    text = go.read_text().split("variables = []string{", 1)[1].split("\n}", 1)[0]
    assert tuple(re.findall(r'"([A-Z_]+)"', text)) == VARIABLES
