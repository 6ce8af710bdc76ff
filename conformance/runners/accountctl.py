# SPDX-License-Identifier: Apache-2.0
"""accountctl of this project; ACCOUNTCTL names the program."""

import json
import os
import subprocess

from . import Refused


def compute(case):
    line = [os.environ.get("ACCOUNTCTL", "accountctl"), "compute", "--file", "-", "--delta", repr(case["delta"]), "--output", "json"]
    workload = json.dumps({"adjacency": case["adjacency"], "events": case["events"]})
    done = subprocess.run(line, input=workload, capture_output=True, text=True)
    if done.returncode == 3:
        raise Refused(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    said = json.loads(done.stdout)
    return {"epsilon": said["epsilon"], "lower": said.get("epsilonLower", 0)}


ACCOUNTANTS = {"accountctl": compute}
