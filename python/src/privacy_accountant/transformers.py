# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer: each optimizer step covered by a ledger.

    with LedgerCallback(client, "team/mnist", step) as callback:     # ends the run on an exception, too
        Trainer(model, args, train_dataset=data, callbacks=[callback]).train()

Written against transformers 5.24, which calls on_pre_optimizer_step after the gradients are computed and before
the optimizer's own step, in which DP optimizers draw their noise.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._training import Training

__all__ = ["LedgerCallback"]


class LedgerCallback(Training, TrainerCallback):  # type: ignore[misc]
    __doc__ = Training.__doc__

    def on_train_begin(self, args: Any, state: Any, control: Any, train_dataloader: Any = None, **_: Any) -> None:
        if not hasattr(TrainerCallback, "on_pre_optimizer_step"):
            raise ValueError("transformers: too old, since it calls no hook before a step; allowed: 4.47 or newer")
        self.begin(train_dataloader)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.cover()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not self.goes_on(last=state.global_step >= state.max_steps):
            control.should_training_stop = True

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.close()
