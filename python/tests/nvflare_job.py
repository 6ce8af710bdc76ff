# SPDX-License-Identifier: Apache-2.0
"""A job of test_nvflare in FLARE's simulator: nvflare_job.py SERVER LEDGER ROUNDS DIRECTORY."""

import sys
from pathlib import Path

from nvflare.app_common.workflows.fedavg import FedAvg
from nvflare.client.config import ExchangeFormat
from nvflare.job_config.api import FedJob
from nvflare.job_config.defs import FilterType
from nvflare.job_config.script_runner import FrameworkType, ScriptRunner

from privacy_accountant.nvflare import LedgerFilter

if __name__ == "__main__":
    server, ledger, rounds, directory = sys.argv[1:]
    job = FedJob("rounds")
    job.to_server(FedAvg(num_clients=2, num_rounds=int(rounds), model={"w": [0.0, 0.0]}))
    job.to_server(LedgerFilter(ledger, "gaussian", {"noise_multiplier": 1.1}, server),
                  filter_type=FilterType.TASK_DATA, tasks=["train"])
    job.to_clients(ScriptRunner(script=str(Path(__file__).with_name("nvflare_client.py")),
                                script_args=f"{directory}/trained", framework=FrameworkType.NUMPY,
                                server_expected_format=ExchangeFormat.NUMPY))
    job.simulator_run(f"{directory}/workspace", n_clients=2, threads=2)
