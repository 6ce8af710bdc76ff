# SPDX-License-Identifier: Apache-2.0
"""The blocking client."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import grpc

from . import _guards as guards
from . import _set_verbs as set_verbs
from . import _verbs as verbs
from . import proto as pb
from ._backup import Receiver
from ._caller import Caller
from ._fields import Action, Events, OneEvent, check_names
from ._questions import Subject, Target, stated
from ._settings import Settings
from ._stream import Stream
from .answers import Calibration, Curve
from .errors import Failure, failure_of
from .run import Run, RunOptions
from .sets import LedgerSet
from .spend import Spend, SpendOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import (
        AmendDatasetOptions,
        CurveOptions,
        DatasetOptions,
        EntriesOptions,
        HistoryOptions,
        LedgerOptions,
        OverviewOptions,
    )


class Client(Caller):
    """Reports releases to a daemon and asks it what they cost. Safe for use by many threads.

        client = Client("unix:/run/accountant.sock")
        client.create_ledger("team/mnist", adjacency="add-or-remove-one")
        client.report("team/mnist", poisson_sampled(gaussian(noise_multiplier=1.1), sampling_probability=0.01))
        client.epsilon("team/mnist", delta=1e-5)

    One client, one writer: a random UUID made here, never configured and never stored. A
    new process is a new writer; a forked one must make its own client. Each ledger has a
    lane of its own in the client, numbered 1, 2, 3 …, with one sender at a time.

    Two equal calls of report are two charges, so a call is not repeated to retry it: the
    client does, with the same number and content, until `deadline` seconds are over or
    `max_attempts` are made: after UNAVAILABLE, an attempt's DEADLINE_EXCEEDED, the
    daemon's CANCELLED, and ABORTED (the lane is busy with an earlier attempt). If no
    definite answer came, the error has `unknown` set and the lane keeps the write.

    server: HOST:PORT or unix:PATH; default: the environment's ACCOUNTANT_SERVER; if nothing says how
    to reach a daemon, that of the current context, or 127.0.0.1:7878. context: a name that accountctl
    login has given to the way to a daemon; it stands in place of server, credentials, token_file and
    insecure, and its default is the environment's ACCOUNTANT_CONTEXT. principal: who reports,
    recorded as "unverified:" + principal where the connection proves nothing (a socket tells the
    user's number, a certificate its name).
    credentials: of TLS (grpc.ssl_channel_credentials); default: of the files in the
    environment's ACCOUNTANT_TLS_CA, …_CERT, …_KEY and …_SERVER_NAME, if there are any; plain
    text to another machine needs insecure=True. token_file: a file with a token that proves
    who calls, recorded as "oidc:ISSUER#SUBJECT", and read again when it changes; default: the
    environment's ACCOUNTANT_TOKEN_FILE, or the token in ACCOUNTANT_TOKEN. timeout: seconds of one attempt. deadline:
    seconds of a whole call, for all that give none themselves; None: no bound once the
    daemon has answered, and eight seconds until then. backoff_min, backoff_max: seconds
    before the second attempt, and at most; they double, and are shortened at random.
    """

    def __init__(
        self, server: str | None = None, *, context: str | None = None, principal: str = "",
        credentials: grpc.ChannelCredentials | None = None,
        token_file: str | PathLike[str] | None = None,
        insecure: bool = False, timeout: float = 10.0, deadline: float | None = None, max_attempts: int | None = None,
        backoff_min: float = 0.05, backoff_max: float = 5.0,
    ) -> None:
        self._begin(Settings.of(
            server, context=context, token_file=token_file, principal=principal, credentials=credentials,
            insecure=insecure, timeout=timeout, deadline=deadline, max_attempts=max_attempts,
            backoff_min=backoff_min, backoff_max=backoff_max,
        ))

    @classmethod
    def local(
        cls, path: str | PathLike[str], *, timeout: float = 10.0, deadline: float | None = None,
        max_attempts: int | None = None,
        backoff_min: float = 0.05, backoff_max: float = 5.0,
    ) -> Client:
        """A client of the ledgers in a directory, which is made if it is missing. No daemon has to run.

            client = Client.local("~/ledgers")

        A daemon that is this user's alone serves the directory while at least one client uses it,
        in any process. It is started here if there is none, and again if it dies. What it has
        acknowledged is on the disk. The directory must be on a disk of this machine. Unavailable
        says why a directory cannot be served. Close the client to let the daemon end earlier than
        with this process. The other arguments are Client's.
        """
        client = cls.__new__(cls)
        client._begin(Settings.of_directory(
            path, timeout=timeout, deadline=deadline, max_attempts=max_attempts, backoff_min=backoff_min,
            backoff_max=backoff_max,
        ))
        return client

    def __repr__(self) -> str:
        return f"<Client of {self.server}{', closed' if self._core.closed else ''}>"

    # Ledgers

    def create_ledger(self, name: str, adjacency: str | int | None = None, *, deadline: float | None = None,
                      **spec: Unpack[LedgerOptions]) -> pb.Ledger:
        """Creates a ledger, or returns the existing one of the same spec; another spec is a Conflict.

        adjacency: "add-or-remove-one", "replace-one" or "zero-out"; of a ledger with a parent
        the parent's by default, as are its privacy_unit and its dataset. spec: any field of
        LedgerSpec: privacy_unit, dataset_id, dataset_version, owner, labels, parent;
        plan=events or a workload makes the policy PLAN; budgets=[{"epsilon": 8, "delta": 1e-6}, …]
        alone makes it FILTER, with expected_run; neither DESCRIPTIVE. A budget without a guard gets
        the one under which most fits, and the log says which (docs/budgets.md).
        """
        return self._carry_out(guards.told(verbs.create_ledger(name, adjacency, spec)), deadline)

    def get_ledger(self, name: str, *, reservations_from: int = 0, deadline: float | None = None) -> pb.Ledger:
        """A ledger's committed state, with balances; name is "dataset:survey" for that of a dataset. Of its
        reservations those from position reservations_from on: where an answer has left out what is open of some, the
        position of the first such one gets the next part."""
        return self._carry_out(verbs.get_ledger(name, reservations_from), deadline)

    def ledgers(self, prefix: str = "", *, deadline: float | None = None) -> Iterator[pb.Ledger]:
        """The ledgers whose names start with prefix, by name; the datasets, if that is "dataset:"."""
        return self._pages(lambda token: verbs.list_ledgers(prefix, token), deadline)

    def close_ledger(self, name: str, reason: str = "", *, request_id: str | None = None,
                     deadline: float | None = None) -> pb.WriteResponse:
        """Ends a ledger for good. What is reserved is charged, and the shares of child ledgers in
        full. Where callers are proven it is for the ledger's creator: PermissionDenied."""
        return self._carry_out(verbs.close_ledger(name, reason, request_id), deadline)

    def entries(self, ledger: str, *, deadline: float | None = None,
                **options: Unpack[EntriesOptions]) -> Iterator[pb.Entry]:
        """A ledger's entries by position. options: start_position, end_position, writer,
        labels, since and until (datetime), page_size, raw."""
        return self._pages(lambda token: verbs.list_entries(ledger, token, options), deadline)

    def get_writer(self, ledger: str, writer: str = "", *, deadline: float | None = None) -> pb.GetWriterResponse:
        """How far a lane has come: this client's, or that of writer."""
        return self._carry_out(verbs.get_writer(ledger, writer or self.writer), deadline)

    def signed_head(self, ledger: str, *, deadline: float | None = None) -> pb.SignedHead:
        """A ledger's head, signed by the daemon. It is not checked here: accountctl verify does."""
        return self._carry_out(verbs.signed_head(ledger), deadline)

    def store_status(self, *, deadline: float | None = None) -> pb.GetStoreStatusResponse:
        """When the daemon's store was last verified, and when its newest backup was made. With an access policy
        only auditors of everything may ask."""
        return self._carry_out(verbs.store_status(), deadline)

    def statement(self, ledger: str, deltas: Iterable[float] = (), *, deadline: float | None = None) -> pb.Statement:
        """What a model card needs to say of a ledger's privacy: ε at each of deltas, or at the daemon's own. Of a
        dataset ("dataset:survey") it is of all its ledgers together, which are listed. Its `markdown` is for
        people, for example in a model card."""
        return self._carry_out(verbs.statement(ledger, deltas), deadline)

    # Datasets

    def create_dataset(
        self, dataset: str, adjacency: str | int, *, independent_of_outputs: bool = False, reason: str = "",
        propose: bool = False, deadline: float | None = None, **spec: Unpack[DatasetOptions],
    ) -> pb.CreateDatasetResponse:
        """Registers a dataset, from whose budget all its ledgers take theirs from then on. On the daemon's own
        socket only. With the spec of the registered one it returns that; another spec is a Conflict.

        The ledgers that carry the identifier already are adopted, and the answer's `adopted` names them. If one
        of them cannot be, nothing is changed, and the error names it.

        dataset: its identifier, as ledgers give it in dataset_id. adjacency: as of create_ledger. spec: any field
        of DatasetSpec. max_records_per_unit and bound_enforced_by are required, and so is one of two: budgets, of which
        one without a guard, or with the guard "rdp" and no order, gets that under which most fits, and the log says
        which; or derived_from=["survey@2026"] with the datasets that it
        overlaps, whose budget it shares. independent_of_outputs asserts, with a reason, that neither the budget nor
        which ledgers there were depended on outputs; it counts where adopted ledgers were charged.

        propose: registers it as a proposal, which an access policy that asks for two people demands: ledgers can take
        nothing from its budget until another officer approves it (approve(answer.ledger.name, answer.proposal)).
        """
        plan = verbs.create_dataset(dataset, adjacency, independent_of_outputs, reason, propose, spec)
        return self._carry_out(guards.told_of_dataset(plan), deadline)

    def amend_dataset(
        self, dataset: str, reason: str, *, request_id: str | None = None, deadline: float | None = None,
        **changes: Unpack[AmendDatasetOptions],
    ) -> pb.WriteResponse:
        """Changes a dataset's record; what is not given stays as it is. On the daemon's own socket only.

        changes: title, owners, labels, caps (both of them), budgets (all of them, none smaller than before, with the
        same guards and orders), independent_of_outputs, which asserts that the decision to raise the budgets did not
        depend on outputs, and add_version={"of": "survey@2027", "derived_from": ["survey@2026"]}.
        """
        return self._carry_out(verbs.amend_dataset(dataset, reason, request_id, changes), deadline)

    # Writes

    def report(
        self, ledger: str, events: Events, *, labels: verbs.Labels = None, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Charges events together or not at all, and returns once they are durable.

        With request_id, this charge's own key, it does not use the lane, and may be called
        again, from any process: it is charged once and answered with its first receipt.
        """
        return self._carry_out(verbs.report(ledger, events, labels, request_id), deadline)

    def check(self, ledger: str, events: Events, *, labels: verbs.Labels = None,
              deadline: float | None = None) -> pb.WriteResponse:
        """Whether report would be taken now; writes nothing."""
        return self._carry_out(verbs.check(ledger, events, labels, str(uuid.uuid4())), deadline)

    def reserve(
        self, ledger: str, events: Events, *, lifetime: int, labels: verbs.Labels = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Sets events aside on a ledger with budgets for lifetime whole seconds. The receipt's
        position names the reservation; what is not committed or released is then charged. More
        than half of the whole budget at once is for the ledger's creator, where callers are proven."""
        return self._carry_out(verbs.reserve(ledger, events, lifetime, labels, request_id), deadline)

    def commit(
        self, ledger: str, reservation: int, events: Events, *, labels: verbs.Labels = None,
        request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Charges a part of a reservation; never refused for lack of budget."""
        return self._carry_out(verbs.commit(ledger, reservation, events, labels, request_id), deadline)

    def release(
        self, ledger: str, reservation: int, reason: str = "", *, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Gives back what is left of a reservation: nothing was, or will be, computed from the data for it."""
        return self._carry_out(verbs.release(ledger, reservation, reason, request_id), deadline)

    def expire(self, ledger: str, reservation: int, *, request_id: str | None = None,
               deadline: float | None = None) -> pb.WriteResponse:
        """Charges what is left of a reservation now, before its time is over. On the daemon's own socket only."""
        return self._carry_out(verbs.expire(ledger, reservation, request_id), deadline)

    def free(
        self, ledger: str, reservation: int, reason: str, *, nothing_released: bool, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Gives back what is left of a reservation that somebody else made, such as a job that died, on
        the caller's word that nothing computed for it was released. On the daemon's own socket only."""
        return self._carry_out(verbs.free(ledger, reservation, reason, nothing_released, request_id), deadline)

    def refund(
        self, ledger: str, position: int, reason: str, *, nothing_released: bool, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Gives back all that one entry charged, on the caller's word that nothing computed for
        it was released. On the daemon's own socket only."""
        return self._carry_out(verbs.refund(ledger, position, reason, nothing_released, request_id), deadline)

    def raise_budgets(
        self, ledger: str, reason: str, *, budgets: Sequence[Any] = (),
        plan: Events | pb.Workload | None = None,
        independent_of_outputs: bool = False,
        request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Makes budgets, or the plan (a workload), larger. On the daemon's own socket only."""
        fields = {"budgets": budgets, "plan": plan, "independent_of_outputs": independent_of_outputs, "reason": reason}
        return self._carry_out(verbs.raise_budgets(ledger, fields, request_id), deadline)

    def reconcile(
        self, ledger: str, events: Events = (), *, contribution: str | int | None = None,
        accept_loss: bool = False, reason: str = "",
        request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Says what a restored ledger has lost: events, which are charged even where budgets do not
        allow it; none, if nothing was lost; or accept_loss, with a reason. On the daemon's own socket only.

        contribution is required with events: "over-all" if they were charged to this ledger alone, or to several
        with that contribution; otherwise the contribution with which they were charged to several."""
        return self._carry_out(verbs.reconcile(ledger, events, contribution, accept_loss, reason, request_id), deadline)

    def acknowledge(
        self, ledger: str, warning: str, *, reason: str, request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Says that a warning about the ledger is known, so that later answers no longer give it. warning is the
        name in brackets at its end, such as "large-delta". Statements list who acknowledged it, when and why.
        Only for the ledger's creator, or on the daemon's own socket."""
        return self._carry_out(verbs.acknowledge(ledger, warning, reason, request_id), deadline)

    def observe(
        self, ledger: str, *, inserted: int, guesses: int, correct: int, delta: float, confidence: float | None = None,
        reason: str = "", request_id: str | None = None, deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Records what canaries showed of the training that was charged to the ledger: of inserted canaries, how many
        guesses were said, and how many were right. It spends nothing. The ledger's statement says what that shows at
        delta, with the confidence, and warns if the training was not what was reported."""
        plan = verbs.observe(ledger, inserted, guesses, correct, delta, confidence, reason, request_id)
        return self._carry_out(plan, deadline)

    # Approvals and rights

    def propose(
        self, ledger: str, *, refund: Action = None, free: Action = None, raise_budgets: Action = None,
        reconcile: Action = None, amend_dataset: Action = None, request_id: str | None = None,
        deadline: float | None = None,
    ) -> pb.WriteResponse:
        """Proposes what another person has to approve, where the access policy asks for two people. The receipt's
        position names the proposal.

        Exactly one action, as a mapping of its fields:

            client.propose("team/mnist", refund={"position": 7, "nothing_released": True, "reason": "it never ran"})

        refund, free, raise_budgets, reconcile: what the method of that name does, proposed. amend_dataset: a change
        of a dataset's budgets or caps; the ledger is the dataset's record then ("dataset:survey").
        """
        return self._carry_out(
            verbs.propose(ledger, refund, free, raise_budgets, reconcile, amend_dataset, request_id), deadline)

    def proposals(self, ledger: str = "", *, deadline: float | None = None) -> Iterator[tuple[str, pb.Proposal]]:
        """What was proposed and neither approved nor withdrawn, each with the name of its ledger: of one ledger, or
        of all ledgers and records of datasets that you may see. Those whose expire_time is over are among them."""
        names: Iterable[str] = [ledger] if ledger else (
            x.name for prefix in ("", "dataset:") for x in self.ledgers(prefix, deadline=deadline))
        for name in names:
            for proposal in self.get_ledger(name, deadline=deadline).proposals:
                yield name, proposal

    def approve(self, ledger: str, proposal: int, comment: str = "", *, request_id: str | None = None,
                deadline: float | None = None) -> pb.WriteResponse:
        """Does what another person has proposed at the position proposal, decided on the ledger as it is now."""
        return self._carry_out(verbs.approve(ledger, proposal, comment, request_id), deadline)

    def withdraw(self, ledger: str, proposal: int, reason: str = "", *, request_id: str | None = None,
                 deadline: float | None = None) -> pb.WriteResponse:
        """Takes back a proposal, your own or another officer's, so that nobody can approve it."""
        return self._carry_out(verbs.withdraw(ledger, proposal, reason, request_id), deadline)

    def get_access(self, principal: str = "", method: str = "", ledger: str = "", *, groups: Iterable[str] = (),
                   deadline: float | None = None) -> pb.GetAccessResponse:
        """Who you are to the daemon and which grants of its access policy are yours, or those of principal. With a
        method of the API, such as "Refund", the answer says whether it is allowed about the ledger, and why. About
        others than yourself the daemon answers only auditors of everything."""
        return self._carry_out(verbs.get_access(principal, method, ledger, groups), deadline)

    # Writes of unknown outcome

    def pending(self, ledger: str) -> list[Any]:
        """The writes on a ledger that are kept until they are known to be written, in order, as they were sent."""
        return [item.request for item in self._core.lane(ledger).pending]

    def settle(self, ledger: str, *, deadline: float | None = None) -> None:
        """Sends those again until all are known to be written. If one is refused, it and those
        behind it are not: the error's not_written has them and the lane forgets them."""
        lane, until = self._core.lane_for_write("settle", ledger), self._core.until(deadline)
        self._take(lane, "settle", until)
        try:
            self._drive(self._core.settle("settle", lane, until))
        finally:
            lane.turn.release()

    # Questions

    def query(
        self, subject: Subject, *, delta: float | None = None, epsilon: float | None = None,
        max_gap: float | None = None,
        deadline: float | None = None,
    ) -> pb.QueryPrivacyResponse:
        """What a ledger (by name), a workload or events cost: ε at delta, or δ at epsilon, with every
        analysis's bound and a lower bound where one is proven. Without either, ε at the ledger's own δ."""
        return self._carry_out(verbs.query(subject, delta, epsilon, max_gap), deadline)

    def epsilon(self, subject: Subject, delta: float | None = None, *, deadline: float | None = None) -> float:
        """The least proven upper bound on ε at delta, under the ledger's guarantee: of a PLAN the
        whole plan's, of a FILTER its budgets'. It may be infinite. (query has `running`.)"""
        return stated(self.query(subject, delta=delta, deadline=deadline), "epsilon")

    def delta(self, subject: Subject, epsilon: float, *, deadline: float | None = None) -> float:
        """The least proven upper bound on δ at epsilon."""
        return stated(self.query(subject, epsilon=epsilon, deadline=deadline), "delta")

    def overview(self, *, deadline: float | None = None,
                 **options: Unpack[OverviewOptions]) -> Iterator[pb.OverviewRow]:
        """Ledgers, or datasets, by name, with what each has spent, what it guarantees, how much of its budget is used
        and what happened to it. options: subject ("ledgers" or "datasets"), prefix, contains, state, flags, min_share,
        page_size, delta."""
        return self._pages(lambda token: verbs.overview(token, options), deadline)

    def history(self, ledger: str, *, deadline: float | None = None,
                **options: Unpack[HistoryOptions]) -> pb.QueryHistoryResponse:
        """How a ledger's ε, and the used shares of its budgets, grew to what they are. options: positions, or times
        (datetime), or points, within start_position or start_time and end_position or end_time; delta; max_gap."""
        return self._carry_out(verbs.history(ledger, options), deadline)

    def spending(self, ledger: str, by: str | int, *, label: str | None = None, limit: int = 0,
                 delta: float | None = None, deadline: float | None = None) -> pb.QuerySpendingResponse:
        """What each group of entries has spent of a ledger. by: "principal", "label" (with the label's key),
        "mechanism" or "month". Each group's ε is as if it were alone, and they do not add up."""
        return self._carry_out(verbs.spending(ledger, by, label, limit, delta), deadline)

    def spending_anywhere(self, name: str, *, by: str | int = "principal", label: str | None = None, prefix: str = "",
                          delta: float | None = None, deadline: float | None = None) -> Iterator[pb.LedgerSpending]:
        """The ledgers that a group has spent of, by name, and how much of each: a principal, or as by says, as in
        spending. ε of different ledgers do not add up."""
        return self._pages(lambda token: verbs.spending_anywhere(name, token, by, label, prefix, delta), deadline)

    def forecast(self, ledger: str, *, progress: bool = False,
                 deadline: float | None = None) -> pb.QueryForecastResponse:
        """A guess when a ledger's budget is used up, from how fast it was spent. With progress, the answer about a
        ledger that is not read yet says in reading how far it is, and the daemon reads on."""
        return self._carry_out(verbs.forecast(ledger, progress), deadline)

    def refusals(self, ledger: str, *, deadline: float | None = None) -> pb.ListRefusalsResponse:
        """What the daemon has refused of a ledger since it was started: how many charges, and the newest ten. It keeps
        that in memory only, and other daemons of the same database know of their own refusals."""
        return self._carry_out(verbs.refusals(ledger), deadline)

    def curve(self, subject: Subject, *, deadline: float | None = None, **fields: Unpack[CurveOptions]) -> Curve:
        """δ at many ε and the trade-off of a test. fields: epsilons, or epsilon_min, epsilon_max and points; alphas;
        max_gap."""
        return self._carry_out(verbs.curve(subject, fields), deadline)

    def calibrate(
        self, solve: str, event: OneEvent, *, ledger: str = "", fixed: Events | pb.Workload | None = None,
        adjacency: str | int | None = None,
        deadline: float | None = None, **target: Unpack[Target],
    ) -> Calibration:
        """The parameter of one event with which it and all that stays fixed (a ledger, a
        workload, events) cost at most the target. solve: "standard-deviation" (the
        smallest noise; also "noise-multiplier" or "scale", as the answer calls it), "count" or "sampling-probability"
        (the largest). event: a
        mechanism, a pair (mechanism, count), or an event. target: target_epsilon with target_delta; or target_mu;
        or target_advantage; or target_alpha with target_beta. Of a ledger only what it takes fits; one with a budget or
        a plan needs no target."""
        return self._carry_out(verbs.calibrate(solve, event, target, ledger, fixed, adjacency), deadline)

    # Streams

    def stream(self, ledger: str, *, window: int = 2048, deadline: float | None = None) -> Stream:
        """Opens the ledger's lane for many writes in flight. See Stream."""
        return Stream.open(self, ledger, window, deadline)

    def ledger_set(self, ledgers: Sequence[str] | None = None, *, prefix: str = "", first: str = "",
                   last: str = "") -> LedgerSet:
        """A handle for several ledgers, which are charged together: their names, or all whose names begin with
        prefix and go on with a text from first to last, in the order of bytes. See LedgerSet."""
        return LedgerSet(self, set_verbs.chosen(ledgers, prefix, first, last))

    def run(self, ledger: str | Sequence[str] | pb.LedgerRange, **options: Unpack[RunOptions]) -> Run:
        """Covers a training run's steps on a ledger, or on each of several. See Run for the options."""
        check_names("run", options, RunOptions)
        return Run(self, ledger, **options)

    def spend(self, ledger: str | Sequence[str] | pb.LedgerRange, events: Events,
              **options: Unpack[SpendOptions]) -> Spend:
        """Sets events aside while a `with` block computes a release from the data, and charges them at its end. See
        Spend for the options."""
        check_names("spend", options, SpendOptions)
        return Spend(self, ledger, events, **options)

    def watch(self, ledger: str) -> Iterator[pb.Ledger]:
        """A ledger's states, with balances: the present one, then the newest after each change,
        until it is closed. When the connection breaks it connects anew."""
        self._drive(self._core.meet("watch", ledger, self._core.until(None)))
        last: pb.Ledger | None = None
        failures = 0
        while True:
            self._core.check("watch", ledger)
            used = self._settings.token_now()
            call = self._rpc["WatchLedger"](pb.WatchLedgerRequest(name=ledger), metadata=self._settings.metadata)
            failure = Failure(grpc.StatusCode.UNAVAILABLE, "the daemon ended the stream")
            try:
                for answer in call:
                    failures = 0
                    self._core.contact.answered()
                    if last is None or answer.ledger.position != last.position:
                        last = answer.ledger
                        yield last
                if last is not None and last.closed:
                    return
            except grpc.RpcError as e:
                failure = failure_of(e)
            finally:
                call.cancel()
            failures += 1
            self._drive(self._core.again("watch", ledger, failure, failures, used, last is not None))

    def backup(self, path: str | PathLike[str], *, deadline: float | None = None) -> int:
        """Writes a consistent copy of the daemon's store to path, which must not exist, and
        returns its size once size and SHA-256 are what the daemon says. On its own socket only; not retried."""
        self._core.check("backup")
        self._drive(self._core.meet("backup", "", self._core.until(deadline)))
        with Receiver(path) as receiver:
            try:
                for message in self._rpc["Backup"](pb.BackupRequest(), timeout=deadline or self._settings.deadline,
                                                   metadata=self._settings.metadata):
                    receiver.take(message)
            except grpc.RpcError as e:
                raise failure_of(e).error("backup", "") from None
            return receiver.finish()
