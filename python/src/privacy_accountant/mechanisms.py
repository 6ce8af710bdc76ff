# SPDX-License-Identifier: Apache-2.0
"""Mechanisms: what was run, never what it costs.

Every kind of the API has a function here; its keyword arguments are the kind's fields, with
the API's units and ranges. What is not a field fails at once; ranges are checked where the
question is answered, or the charge is taken.

    step = poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01)

`kinds` lists them, and `mechanism` makes one by its name.
"""

from __future__ import annotations

from . import _kinds
from ._fields import Event, Events, Mechanism, Workload, event, events, kinds, mechanism, workload
from ._kinds import *  # noqa: F403

__all__ = ["Event", "Events", "Mechanism", "Workload", "event", "events", "kinds", "mechanism", "workload"]
__all__ += _kinds.__all__
