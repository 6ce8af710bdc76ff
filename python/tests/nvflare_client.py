# SPDX-License-Identifier: Apache-2.0
"""A client of test_nvflare: it adds one to the weights."""

import sys

import numpy
import nvflare.client as flare

flare.init()
while flare.is_running():
    model = flare.receive()
    with open(sys.argv[1], "a") as file:
        file.write("trained\n")
    model.params["w"] = numpy.asarray(model.params["w"]) + 1
    model.meta = {"NUM_STEPS_CURRENT_ROUND": 1}
    flare.send(model)
