# SPDX-License-Identifier: Apache-2.0
"""riskcal: its accountant of steps of DP-SGD."""

from . import dp_sgd_steps


def ctd(case):
    from riskcal.accountants import CTDAccountant

    accountant = CTDAccountant()
    for sigma, q, n in dp_sgd_steps(case):
        for _ in range(n):
            accountant.step(noise_multiplier=sigma, sample_rate=q)
    return {"epsilon": accountant.get_epsilon(delta=case["delta"])}


ACCOUNTANTS = {"riskcal": ctd}
