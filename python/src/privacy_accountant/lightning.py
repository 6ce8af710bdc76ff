# SPDX-License-Identifier: Apache-2.0
"""Lightning: each optimizer step covered by a ledger.

    callback = LedgerCallback(client, "team/mnist", step)
    Trainer(callbacks=[callback]).fit(model)

Written against Lightning 2.6, which calls on_before_optimizer_step after the gradients are computed and before
the optimizer's own step, in which DP optimizers draw their noise.
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback

from ._training import Training

__all__ = ["LedgerCallback"]


class LedgerCallback(Training, Callback):  # type: ignore[misc]
    __doc__ = Training.__doc__

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.begin(trainer.train_dataloader)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        self.cover()

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        done = trainer.global_step == trainer.max_steps or trainer.is_last_batch and (
            trainer.current_epoch + 1 == trainer.max_epochs)
        if not self.goes_on(last=done):
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.close()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.close(exception)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.close()
