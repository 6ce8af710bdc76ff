#!/usr/bin/env bash
# Checks what lies in this directory, as far as this machine can: the manifests
# against Kubernetes' schemas (kubernetes-validate brings them), the unit by systemd.
# Needs Python 3.10+; downloads into deploy/.venv. The image's content is tested by
# cmd/accountantd (TestEmptyRoot).
set -euo pipefail
cd "$(dirname "$0")"
if ! [ -x .venv/bin/kubernetes-validate ]; then
  python3 -m venv .venv
  .venv/bin/pip install -q kubernetes-validate==1.37.0
fi
.venv/bin/kubernetes-validate --strict kubernetes/*.yaml
if command -v systemd-analyze >/dev/null; then
  # verify looks for the program, which need not be installed here
  unit=$(mktemp -d)/accountantd.service
  trap 'rm -r "$(dirname "$unit")"' EXIT
  sed 's|^ExecStart=/usr/local/bin/accountantd|ExecStart=/bin/true|' systemd/accountantd.service >"$unit"
  systemd-analyze verify "$unit"
  systemd-analyze security --offline=true --threshold=20 "$unit" | tail -1
fi
