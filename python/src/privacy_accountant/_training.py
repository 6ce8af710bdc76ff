# SPDX-License-Identifier: Apache-2.0
"""What the callbacks of training frameworks have in common.

Each covers an optimizer step in the framework's last hook before it, so before its noise is released. A framework can
be asked to stop only between two steps; so after each step the next one is set aside, and where the budget refuses
that, training is asked to stop. What was set aside and not used is given back at the end.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ._contact import log
from ._fields import Events
from ._set_verbs import Ledgers
from .client import Client
from .errors import BudgetExceeded, Closed
from .run import Run, RunOptions, _covering
from .tracking import Autolog, Tracker

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Training:
    """Covers the optimizer steps of a framework's training loop on a ledger.

    mechanism: what each step runs, such as poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01);
    if a RandomAllocation deals the batches, gaussian(noise_multiplier=1.1). trackers: are told of ε and what is left
    every `seconds`, and at the end of the statement. options: those of Run.

    If the budget takes no step, training does not begin: BudgetExceeded. If it takes no further step, training stops
    as the framework does it, and `refused` is the reason. One run is made for each training; close ends it, and so
    does `with`, for frameworks that do not tell callbacks of exceptions. Among several ranks of torch.distributed,
    rank 0 covers for all.
    """

    def __init__(self, client: Client, ledger: str | Ledgers, mechanism: Events, *, trackers: Iterable[Tracker] = (),
                 seconds: float = 60.0, **options: Unpack[RunOptions]) -> None:
        super().__init__()
        self.run: Run | None = None  # that of the training that goes on, or of the last one
        self.refused: BudgetExceeded | None = None
        self._begin_run: Callable[[], Run] = lambda: client.run(ledger, **options)
        self._mechanism, self._trackers, self._seconds = mechanism, tuple(trackers), seconds
        self._cover: Callable[[], None] | None = None
        self._prepare: Callable[[], None] | None = None
        self._ends = contextlib.ExitStack()

    def begin(self, batches: Any = None) -> None:
        """Begins a run, and sets its first step aside. batches: the loader, if the framework shows it."""
        self.close()
        self.refused = None
        if _rank():
            return
        run = self._begin_run()
        with contextlib.ExitStack() as ends:
            self._cover, self._prepare = _covering(run, batches, self._mechanism)
            if self._trackers:
                ends.enter_context(Autolog(run, *self._trackers, seconds=self._seconds))
            self.run = ends.enter_context(run)  # it ends first, so that the trackers are told what is left then
            self._prepare()
            self._ends = ends.pop_all()

    def cover(self) -> None:
        """Covers a step. If it raises, the step must not be made."""
        if _rank():
            return
        if self._cover is None or self.run is None or self.run.ended:
            raise Closed("step", "", "a step outside of a training that the callback has seen begin")
        self._cover()

    def goes_on(self, last: bool = False) -> bool:
        """Sets the next step aside; False: the budget refuses it. last: none comes."""
        stop = False
        if self._prepare is not None and not last and not _rank():
            try:
                self._prepare()
            except BudgetExceeded as e:
                self.refused, stop = e, True
                log.warning("the budget takes no further step, so training stops here: %s", e)
        return not _of_rank_zero(stop)

    def close(self, error: BaseException | None = None) -> None:
        """Ends the run, if there is one: charges what was made, and gives back the rest. error: why the training ends;
        then it waits for the daemon for some seconds only."""
        self._cover = self._prepare = None
        self._ends.pop_all().__exit__(None if error is None else type(error), error, None)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close(error)


def _distributed() -> Any:
    """torch.distributed, if there are several ranks."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed if distributed.get_world_size() > 1 else None


def _rank() -> int:
    distributed = _distributed()
    return 0 if distributed is None else int(distributed.get_rank())


def _of_rank_zero(stop: bool) -> bool:
    """What rank 0 says, on all ranks."""
    distributed = _distributed()
    if distributed is None:
        return stop
    said = [stop]
    distributed.broadcast_object_list(said, src=0)
    return bool(said[0])
