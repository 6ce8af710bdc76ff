# SPDX-License-Identifier: Apache-2.0
"""ε, what is left of the budget and the statement, for MLflow and Weights & Biases.

    with client.run("team/mnist") as run, Autolog(run, MLflow(), WandB()):
        for batch in run.over(batches, step):
            ...

A tracker is told every minute and at the end, by a thread of its own, so training never waits for
it. What a tracker cannot take is a warning in the log, and the training goes on.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from . import _verbs as verbs
from . import proto as pb
from ._contact import log
from ._real import positive
from .run import LEAVE_PATIENCE, Run

__all__ = ["Autolog", "MLflow", "Tracker", "WandB"]


class Tracker(Protocol):
    """What metrics and texts are told to. Both methods may be called from any thread."""

    def numbers(self, values: Mapping[str, float]) -> None:
        """Takes metrics by name. One is privacy/steps, how many steps the run has made."""

    def statement(self, markdown: str, summary: str) -> None:
        """Takes the ledger's statement, and its first paragraph."""


class MLflow:
    """A run of MLflow: the active one, or that of run_id. The statement becomes the artifact privacy/statement.md."""

    def __init__(self, run_id: str | None = None) -> None:
        import mlflow

        active = mlflow.active_run()  # of this thread: another one has none
        if run_id is None and active is None:
            raise ValueError("run_id: missing, and no MLflow run is active; allowed: to make MLflow() within `with "
                             "mlflow.start_run():`")
        self._client, self._run = mlflow.MlflowClient(), run_id or active.info.run_id

    def numbers(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._client.log_metric(self._run, name, value, step=int(values["privacy/steps"]))

    def statement(self, markdown: str, summary: str) -> None:
        self._client.log_text(self._run, markdown, "privacy/statement.md")
        self._client.set_tag(self._run, "privacy/summary", summary)


class WandB:
    """A run of Weights & Biases: wandb.run, or another. The statement becomes the artifact privacy-ID, where ID is that
    of the run, and its first paragraph the summary's privacy/summary. Metrics have privacy/steps as their axis."""

    def __init__(self, run: Any = None) -> None:
        import wandb

        self._wandb, self._run = wandb, run or wandb.run
        if self._run is None:
            raise ValueError("run: missing, and there is no wandb.run; allowed: wandb.init before")
        self._run.define_metric("privacy/steps")
        self._run.define_metric("privacy/*", step_metric="privacy/steps")

    def numbers(self, values: Mapping[str, float]) -> None:
        self._run.log(dict(values))

    def statement(self, markdown: str, summary: str) -> None:
        self._run.summary["privacy/summary"] = summary
        artifact = self._wandb.Artifact(f"privacy-{self._run.id}", type="privacy-statement")
        with artifact.new_file("statement.md", mode="w", encoding="utf-8") as file:
            file.write(markdown)
        self._run.log_artifact(artifact)


def _numbers(state: pb.Ledger, answer: pb.QueryPrivacyResponse) -> dict[str, float]:
    """The metrics of a ledger. privacy/epsilon is what the ledger guarantees at privacy/delta, which is its own δ,
    and privacy/epsilon_so_far is of what was charged. privacy/left is the share of the budget, or of the plan, that
    nobody has used or set aside: of several the least. Names without a value are left out."""
    out = {"privacy/delta": answer.delta if answer.HasField("delta") else math.nan,
           "privacy/epsilon": answer.epsilon if answer.HasField("epsilon") else math.nan,
           "privacy/epsilon_so_far": answer.running if answer.HasField("running") else math.nan}
    amounts = [a for b in state.budgets for a in (b.value, b.delta) if a.limit > 0]
    shares = [a.remaining / a.limit for a in amounts] + [p.remaining / p.planned for p in state.plan if p.planned]
    out["privacy/left"] = min(shares, default=math.nan)
    return {name: value for name, value in out.items() if not math.isnan(value)}


class Autolog:
    """Tells trackers about a run's ledger every so many seconds while the `with` block runs, and at its end, then
    with the statement. It may stand inside the run's own block, or around it."""

    def __init__(self, run: Run, *trackers: Tracker, seconds: float = 60.0) -> None:
        if not isinstance(run.ledger, str):
            raise TypeError("run: of several ledgers; allowed: a run on one, since each has an ε of its own")
        self._run, self._ledger, self._trackers = run, run.ledger, trackers
        self._seconds = positive("seconds", seconds)
        self._patience = min(LEAVE_PATIENCE, run._deadline or LEAVE_PATIENCE)  # with which the daemon is asked
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="privacy-accountant tracking", daemon=True)

    def __enter__(self) -> Autolog:
        if self._trackers:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._trackers:
            return
        self._over.set()
        self._thread.join()
        self._try(self._last)

    def _follow(self) -> None:
        while not self._over.wait(self._seconds):
            self._try(self._tell)

    def _last(self) -> None:
        if not self._run.ended:
            self._run.flush(deadline=self._patience)
        self._tell()
        statement = self._run._client._carry_out(verbs.statement(self._ledger, ()), self._patience)
        text = statement.markdown
        for tracker in self._trackers:
            self._try(tracker.statement, text, statement.summary)

    def _tell(self) -> None:
        ask = self._run._client._carry_out
        steps = {"privacy/steps": float(self._run.steps)}
        values = steps | _numbers(ask(verbs.get_ledger(self._ledger), self._patience),
                                  ask(verbs.query(self._ledger, None, None, None), self._patience))
        for tracker in self._trackers:
            self._try(tracker.numbers, values)

    def _try(self, what: Any, *args: Any) -> None:
        try:
            what(*args)
        except Exception as e:  # of a tracker, whose errors can be any; or of the daemon, while it is away
            log.warning("tracking of %s: %s", self._ledger, e)
