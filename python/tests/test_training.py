# SPDX-License-Identifier: Apache-2.0
"""Callbacks of training frameworks, and trackers, with the real frameworks. Run by make test-frameworks."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from conftest import STEP, Daemon, plan

pytestmark = pytest.mark.frameworks
torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from privacy_accountant import BudgetExceeded, Client, Closed, gaussian  # noqa: E402
from privacy_accountant.batches import RandomAllocation  # noqa: E402
from privacy_accountant.tracking import Autolog, MLflow, WandB  # noqa: E402


class Tiny(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A model of four numbers, which notes how often its weights were changed."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.fails_at = -1
        self.seen = 0

    def forward(self, x: Any, labels: Any = None) -> dict[str, Any]:
        self.seen += 1
        if self.seen == self.fails_at:
            raise RuntimeError("the training fails")
        return {"loss": self.layer(x).square().mean()}


def data(n: int = 64) -> Any:
    return TensorDataset(torch.randn(n, 4))


def charged(client: Client, ledger: str) -> int:
    """What was charged, where nothing is set aside any more."""
    state = client.get_ledger(ledger)
    assert not state.reservations
    return int(state.total_count)


class Steps:
    """Counts the steps of an optimizer, and asserts that each was covered before it."""

    def __init__(self, callback: Any, optimizer: Any, epochs: bool = False) -> None:
        self.made = 0
        self.covered = lambda: self.made if epochs else callback.run.steps
        optimizer.register_step_post_hook(self.note)

    def note(self, *_: Any) -> None:
        self.made += 1
        assert self.covered() == self.made


class LightningJob:
    """Eight batches an epoch."""

    def __init__(self, callback: Any, epochs: int = 2, accumulate: int = 1, loader: Any = None, **options: Any) -> None:
        import lightning

        job = self

        class Module(lightning.LightningModule):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.model = Tiny()

            def training_step(self, batch: Any, index: int) -> Any:
                return self.model(batch[0])["loss"]

            def configure_optimizers(self) -> Any:
                optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
                job.steps = Steps(callback, optimizer, epochs=loader is not None)
                return optimizer

        self.steps: Any = None
        self.module = Module()
        self.loader = loader or DataLoader(data(), batch_size=8)
        self.trainer = lightning.Trainer(max_epochs=epochs, accumulate_grad_batches=accumulate, callbacks=[callback],
                                         accelerator="cpu", logger=False, enable_checkpointing=False,
                                         enable_progress_bar=False, enable_model_summary=False, **options)

    @property
    def model(self) -> Any:
        return self.module.model

    def train(self) -> int:
        self.trainer.fit(self.module, self.loader)
        return int(self.steps.made)


class HuggingFaceJob:
    """Eight batches an epoch."""

    def __init__(self, callback: Any, tmp_path: Path, epochs: int = 2, accumulate: int = 1, loader: Any = None) -> None:
        import transformers

        class Rows(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
            def __len__(self) -> int:
                return 64

            def __getitem__(self, i: int) -> Any:
                return {"x": torch.ones(4) * i / 64}

        self.model = Tiny()
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.steps = Steps(callback, optimizer)
        args = transformers.TrainingArguments(
            str(tmp_path), num_train_epochs=epochs, per_device_train_batch_size=8, use_cpu=True, report_to=[],
            gradient_accumulation_steps=accumulate, save_strategy="no", disable_tqdm=True, remove_unused_columns=False,
            train_sampling_strategy="sequential")
        self.trainer = transformers.Trainer(self.model, args, train_dataset=Rows(), callbacks=[callback],
                                            optimizers=(optimizer, torch.optim.lr_scheduler.ConstantLR(optimizer)))

    def train(self) -> int:
        self.trainer.train()
        return self.steps.made


@pytest.fixture(params=["lightning", "transformers"])
def framework(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The framework's callback, and what makes a job with it."""
    pytest.importorskip(request.param)
    if request.param == "lightning":
        from privacy_accountant.lightning import LedgerCallback

        return LedgerCallback, LightningJob
    from privacy_accountant.transformers import LedgerCallback as Other

    return Other, lambda callback, **options: HuggingFaceJob(callback, tmp_path, **options)


@pytest.mark.parametrize(("accumulate", "made"), [(1, 16), (3, 6)])
def test_what_is_made_is_charged(client: Client, framework: Any, accumulate: int, made: int) -> None:
    callback_of, job_of = framework
    ledger = plan(client, 100)
    callback = callback_of(client, ledger, STEP)
    assert job_of(callback, accumulate=accumulate).train() == made
    assert charged(client, ledger) == made and callback.run.ended and callback.refused is None


def test_training_stops_where_the_budget_ends(client: Client, framework: Any) -> None:
    callback_of, job_of = framework
    ledger = plan(client, 11)
    callback = callback_of(client, ledger, STEP)
    assert job_of(callback).train() == 11  # without an exception
    assert charged(client, ledger) == 11 and isinstance(callback.refused, BudgetExceeded)
    again = job_of(callback)
    with pytest.raises(BudgetExceeded):
        again.train()
    assert again.model.seen == 0 and charged(client, ledger) == 11


def test_a_plan_that_fits_exactly(client: Client, framework: Any) -> None:
    callback_of, job_of = framework
    ledger = plan(client, 32)
    callback = callback_of(client, ledger, STEP)
    for done in (16, 32):  # one callback, two trainings
        assert job_of(callback).train() == 16
        assert charged(client, ledger) == done and callback.refused is None


def test_steps_that_are_charged_one_by_one(client: Client, framework: Any, ledger: str) -> None:
    callback_of, job_of = framework
    planned = plan(client, 11)
    assert job_of(callback_of(client, planned, STEP, strict="each")).train() == 11 == charged(client, planned)
    assert job_of(callback_of(client, ledger, STEP)).train() == 16 == charged(client, ledger)


def test_training_that_fails_is_charged(client: Client, framework: Any) -> None:
    callback_of, job_of = framework
    ledger = plan(client, 100)
    with pytest.raises(RuntimeError, match="the training fails"), callback_of(client, ledger, STEP) as callback:
        job = job_of(callback)
        job.model.fails_at = 6
        job.train()
    assert job.steps.made == 5 == charged(client, ledger)
    with pytest.raises(Closed):
        callback.cover()


def test_lightning_ends_the_run_on_an_exception(client: Client) -> None:
    pytest.importorskip("lightning")
    from privacy_accountant.lightning import LedgerCallback

    ledger = plan(client, 100)
    job = LightningJob(LedgerCallback(client, ledger, STEP))
    job.model.fails_at = 6
    with pytest.raises(RuntimeError, match="the training fails"):
        job.train()
    assert charged(client, ledger) == 5


def test_lightning_covers_before_opacus_draws_noise(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("lightning")
    opacus = pytest.importorskip("opacus")
    import lightning

    from privacy_accountant.lightning import LedgerCallback

    step = gaussian(noise_multiplier=0.55)
    ledger = client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one", plan=(step, 5)).spec.name
    callback = LedgerCallback(client, ledger, step)
    noisy: list[int] = []
    add_noise = opacus.optimizers.DPOptimizer.add_noise
    monkeypatch.setattr(opacus.optimizers.DPOptimizer, "add_noise",
                        lambda self: (noisy.append(callback.run.steps), add_noise(self))[1])

    class Module(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = opacus.GradSampleModule(torch.nn.Linear(4, 1))

        def training_step(self, batch: Any, index: int) -> Any:
            return self.model(batch[0]).square().mean()

        def configure_optimizers(self) -> Any:
            return opacus.optimizers.DPOptimizer(torch.optim.SGD(self.parameters(), lr=0.1), noise_multiplier=1.1,
                                                 max_grad_norm=1.0, expected_batch_size=8)

    trainer = lightning.Trainer(max_epochs=1, callbacks=[callback], accelerator="cpu", logger=False,
                                enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), DataLoader(data(), batch_size=8))
    assert noisy == [1, 2, 3, 4, 5] and charged(client, ledger) == 5


def test_lightning_with_random_allocation(client: Client) -> None:
    pytest.importorskip("lightning")
    from privacy_accountant.lightning import LedgerCallback

    noise, deal = gaussian(noise_multiplier=1.1), RandomAllocation(64, steps=4)
    ledger = client.create_ledger(f"p/{uuid.uuid4()}", "add-or-remove-one", plan=deal.event(noise, 2)).spec.name
    callback = LedgerCallback(client, ledger, noise)
    job = LightningJob(callback, epochs=3, loader=DataLoader(data(), batch_sampler=deal))
    assert job.train() == 8  # of two epochs; the third is refused
    assert charged(client, ledger) == 2 and callback.refused is not None


def test_shuffled_batches_are_warned_of(client: Client) -> None:
    pytest.importorskip("lightning")
    from privacy_accountant.lightning import LedgerCallback

    job = LightningJob(LedgerCallback(client, plan(client, 100), STEP),
                       loader=DataLoader(data(), batch_size=8, shuffle=True))
    with pytest.warns(UserWarning, match="these are not the samples of poisson_sampled"):
        job.train()


@pytest.fixture
def keras_job() -> Iterator[Any]:
    """What makes a model with eight batches an epoch, and trains it."""
    keras = pytest.importorskip("keras")
    import numpy

    def train(callback: Any, epochs: int = 2, fails_at: int = -1, **options: Any) -> int:
        class Fails(keras.callbacks.Callback):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.begun = 0

            def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
                self.begun += 1
                assert callback.run.steps == self.begun
                if self.begun == fails_at:
                    raise RuntimeError("the training fails")

        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.01), loss="mse", **options)
        x = numpy.ones((64, 4), dtype="float32")
        model.fit(x, x[:, :1], batch_size=8, epochs=epochs, verbose=0, callbacks=[callback, Fails()])
        return int(model.optimizer.iterations)

    return train


def test_keras(client: Client, keras_job: Any) -> None:
    from privacy_accountant.keras import LedgerCallback

    ledger = plan(client, 27)
    callback = LedgerCallback(client, ledger, STEP)
    assert keras_job(callback) == 16 == charged(client, ledger) and callback.refused is None
    assert keras_job(callback) == 11 and charged(client, ledger) == 27
    assert isinstance(callback.refused, BudgetExceeded)
    with pytest.raises(BudgetExceeded):
        keras_job(callback)
    with pytest.raises(ValueError, match="steps_per_execution: 2; allowed: 1"):
        keras_job(callback, steps_per_execution=2)
    ledger = plan(client, 100)
    with pytest.raises(RuntimeError, match="the training fails"), LedgerCallback(client, ledger, STEP) as failing:
        keras_job(failing, fails_at=6)
    assert charged(client, ledger) == 6  # the batch that failed was covered, and Keras does not say how far it came


def test_mlflow(client: Client, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    from privacy_accountant.lightning import LedgerCallback

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    with pytest.raises(ValueError, match="no MLflow run is active"):
        MLflow()
    mlflow.create_experiment("e", artifact_location=f"file://{tmp_path}/artifacts")
    mlflow.set_experiment("e")
    ledger = plan(client, 20)
    with mlflow.start_run() as active:
        LightningJob(LedgerCallback(client, ledger, STEP, trackers=[MLflow()])).train()
    answer = client.query(ledger)
    api = mlflow.MlflowClient()
    assert api.get_run(active.info.run_id).data.metrics == {
        "privacy/delta": answer.delta, "privacy/epsilon": answer.epsilon, "privacy/epsilon_so_far": answer.running,
        "privacy/left": 0.2, "privacy/steps": 16}
    assert [m.step for m in api.get_metric_history(active.info.run_id, "privacy/epsilon")] == [16]
    (file,) = tmp_path.glob("artifacts/**/statement.md")
    assert ledger in file.read_text() and file.read_text().startswith("#")


def test_wandb(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    with pytest.raises(ValueError, match="there is no wandb.run"):
        WandB()
    ledger = plan(client, 20)
    with wandb.init(mode="offline", dir=str(tmp_path), project="p") as mine:
        with client.run(ledger) as run, Autolog(run, WandB(), seconds=0.01):
            for _ in range(16):
                run.step(STEP)
        summary = dict(mine.summary)
    answer = client.query(ledger)
    assert (summary["privacy/epsilon"], summary["privacy/epsilon_so_far"], summary["privacy/steps"]) == (
        answer.epsilon, answer.running, 16)
    assert "ε" in summary["privacy/summary"] and json.dumps(summary["privacy/left"])


def test_a_tracker_that_fails_stops_nothing(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        def numbers(self, values: Any) -> None:
            raise OSError("the tracker is away")

        def statement(self, markdown: str, summary: str) -> None:
            raise OSError("the tracker is away")

    ledger = plan(client, 20)
    with client.run(ledger) as run, Autolog(run, Broken(), seconds=0.01):
        run.step(STEP, 5)
    assert charged(client, ledger) == 5 and "the tracker is away" in caplog.text
    with pytest.raises(TypeError, match="a run on one"):
        Autolog(client.run([ledger], contribution="over-all"), Broken())


def test_training_fails_while_the_daemon_is_away(daemon: Daemon, connect: Callable[..., Client],
                                                 caplog: pytest.LogCaptureFixture) -> None:
    from privacy_accountant._training import Training

    class Deaf:
        def numbers(self, values: Any) -> None: ...

        def statement(self, markdown: str, summary: str) -> None: ...

    client = connect(daemon.address)
    ledger = plan(client, 20)
    with pytest.raises(ZeroDivisionError), \
            Training(client, ledger, STEP, trackers=[Deaf()], deadline=1.0, lifetime=2) as training:
        training.begin()
        for _ in range(3):
            training.cover()
            assert training.goes_on()
        daemon.kill()
        1 / 0
    assert "not ended in order" in caplog.text and "tracking of" in caplog.text
    daemon.start()  # what was set aside is charged when its time is over
    for _ in range(600):
        state = client.get_ledger(ledger)
        if not state.reservations:
            break
        time.sleep(0.1)
    assert 3 <= state.total_count <= 20 and not state.reservations
