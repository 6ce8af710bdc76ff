# SPDX-License-Identifier: Apache-2.0
"""Runs one public accountant on one workload and prints one JSON object.

    python one.py PEER < workload.json           {"epsilon": 1.83, "lower": 1.82}
    python one.py PEER --again < workload.json   … and "again": seconds of user CPU

The workload is a case of conformance/runners, which has the accountants; with "at", an ε, the answer is {"delta": 1e-3}.
--again adds one more of the last event, asks again, and says what that took: with imports done and caches warm,
keeping what was composed where the accountant can. An accountant that cannot express the workload prints
{"unsupported": "why"}; its failures are left as they occur. It is a process of its own so that its user CPU and
peak memory can be measured from outside.
"""

import json
import pathlib
import resource
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
from conformance.runners import Refused, accountants

PEERS = {name: ask for name, ask in accountants().items() if name not in ("accountctl", "JAX Privacy", "riskcal")}


def main():
    warnings.simplefilter("ignore")
    workload = json.load(sys.stdin)
    ask = PEERS[sys.argv[1]]
    try:
        if "at" in workload and not sys.argv[1].startswith("dp-accounting"):
            raise Refused("asked for ε at a δ only")
        answer = ask(workload)
        if "--again" in sys.argv:
            workload["events"][-1]["count"] += 1
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            ask(workload)
            answer["again"] = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    except Refused as e:
        answer = {"unsupported": str(e)}
    json.dump({k: float(v) if isinstance(v, (int, float)) or hasattr(v, "item") else v for k, v in answer.items()}, sys.stdout)


if __name__ == "__main__":
    main()
