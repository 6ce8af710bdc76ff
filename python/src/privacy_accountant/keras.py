# SPDX-License-Identifier: Apache-2.0
"""Keras: each batch covered by a ledger.

    with LedgerCallback(client, "team/mnist", step) as callback:     # ends the run on an exception, too
        model.fit(x, y, callbacks=[callback])

Written against Keras 3.15, whose only hook before a step is on_train_batch_begin, before the batch is computed on. So
every batch is a step, also where an optimizer gathers the gradients of several (gradient_accumulation_steps).
train_on_batch calls no callbacks.
"""

from __future__ import annotations

from typing import Any

from keras.callbacks import Callback

from ._training import Training

__all__ = ["LedgerCallback"]


class LedgerCallback(Training, Callback):  # type: ignore[misc]
    __doc__ = Training.__doc__

    def on_train_begin(self, logs: Any = None) -> None:
        together = self.model.steps_per_execution
        if together != 1:
            raise ValueError(f"steps_per_execution: {together}; allowed: 1, since Keras tells callbacks only of the "
                             "first of several steps")
        self._last_epoch = False
        self.begin()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._last_epoch = epoch + 1 == self.params.get("epochs")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self.cover()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if not self.goes_on(last=self._last_epoch and batch + 1 == self.params.get("steps")):
            self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        self.close()
