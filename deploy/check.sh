#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks what lies in this directory, as far as this machine can: the manifests
# against Kubernetes' schemas (kubernetes-validate brings them), the alerts with the
# manifests' labels and the scrape example by promtool, the unit by systemd.
# Needs Python 3.10+; downloads into deploy/.venv. The image's content is tested by
# cmd/accountantd (TestEmptyRoot).
set -euo pipefail
cd "$(dirname "$0")"
if ! [ -x .venv/bin/kubernetes-validate ]; then
  python3 -m venv .venv
  .venv/bin/pip install -q kubernetes-validate==1.37.0
fi
.venv/bin/kubernetes-validate --strict kubernetes/*.yaml
if command -v promtool >/dev/null; then
  promtool test rules alerts_test.yml
  # Debian's promtool is built without Kubernetes and knows the rest of the example.
  config=$(promtool check config --syntax-only prometheus.yml 2>&1) ||
    [ "$(grep -c '^ *line ' <<<"$config")" = "$(grep -c 'field kubernetes_sd_configs not found' <<<"$config")" ] ||
    { echo "$config" >&2; exit 1; }
else
  echo "promtool is not installed, so the alerts were not tested: apt-get install prometheus, or brew install prometheus" >&2
fi
if command -v systemd-analyze >/dev/null; then
  # verify looks for the program, which need not be installed here
  unit=$(mktemp -d)/accountantd.service
  trap 'rm -r "$(dirname "$unit")"' EXIT
  sed 's|^ExecStart=/usr/local/bin/accountantd|ExecStart=/bin/true|' systemd/accountantd.service >"$unit"
  systemd-analyze verify "$unit"
  mkdir "$unit.d"
  sed 's|^ExecStart=/usr/local/bin/accountantd|ExecStart=/bin/true|' systemd/fleet.conf >"$unit.d/fleet.conf"
  systemd-analyze verify "$unit"
  systemd-analyze security --offline=true --threshold=20 "$unit" | tail -1
fi
