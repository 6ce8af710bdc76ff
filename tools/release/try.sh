#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries what tools/release has made for this Linux machine, each in an empty directory: the
# checksums, the archive, the Debian package's files, and the wheel in a new environment of every
# Python from 3.10 that is installed. Nothing of the clone is used but dist/.
set -euo pipefail
dist=$(cd "${1:-dist}" && pwd)
machine=$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cd "$room"

(cd "$dist" && sha256sum --quiet -c SHA256SUMS)
echo "checksums: all $(wc -l <"$dist/SHA256SUMS") files are as SHA256SUMS says"

# The first answer of a new user: with known digits, so that a program that answers anything else fails.
answers() {
  "$1" version
  "$1" compute dp-sgd --noise-multiplier 1.1 --batch-size 256 --dataset-size 60000 --epochs 60 --delta 1e-6 --output json >answer.json 2>warnings
  python3 -c 'import json; e = json.load(open("answer.json"))["epsilon"]; assert 2.70 < e < 2.71, e; print("epsilon", e)'
}

tar xzf "$dist"/privacy-accountant_*_linux_"$machine".tar.gz
answers privacy-accountant_*/accountctl
if command -v dpkg-deb >/dev/null; then
  dpkg-deb -x "$dist"/privacy-accountant_*_linux_"$machine".deb deb
  answers deb/usr/bin/accountctl
  deb/usr/bin/accountantd --help >/dev/null
fi
# pyenv's Pythons, too, which are on PATH only one at a time.
if command -v pyenv >/dev/null; then
  for folder in "$(pyenv root)"/versions/3.1[0-9]*/bin; do PATH=$folder:$PATH; done
fi
for python in python3.10 python3.11 python3.12 python3.13 python3.14; do
  "$python" -c '' 2>/dev/null || continue
  start=$(date +%s%N)
  "$python" -m venv "$python"
  "$python"/bin/pip install -q "$dist"/privacy_accountant-*linux*"$(uname -m)"*.whl
  echo "$python: installed in $((($(date +%s%N) - start) / 1000000)) ms"
  answers "$python"/bin/accountctl
  "$python"/bin/python -c 'import privacy_accountant; print(privacy_accountant.__version__)'
done
echo "all that was released for linux/$machine works"
