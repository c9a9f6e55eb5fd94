"""One Lease and several that want it, against a real HTTP API server: who holds it, when, and what takes it away."""

import io
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gitops_ds.errors import HeldError, HubError, HubUnreachable, InputError
from gitops_ds.hub.live import Limits, open_hub
from gitops_ds.hub.live.lease import DURATION, HubLease, lease_limits
from gitops_ds.intent.reconciler import Lease
from gitops_ds.watch import Log
from gitops_ds.watch.election import Election, Leadership, new_identity
from tests.hubs import Hub, hang, hub_server, refuse, reset, slow

NOW = datetime(2026, 1, 15, 9, tzinfo=UTC)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_server() as running:
        yield running


@pytest.fixture
def contend(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., HubLease]]:
    """Makes contenders for ops/gitops-ds, each with a connection of its own."""
    kubeconfig = hub.kubeconfig(tmp_path_factory.mktemp("kube"))
    made: list[HubLease] = []

    def contender(identity: str, clock: Callable[[], float] | None = None, **fields: Any) -> HubLease:
        limits = fields.pop("limits", Limits(connect=5.0, read=5.0, total=5.0, tries=1))
        server = open_hub("emulator", kubeconfig=kubeconfig, limits=limits)
        lease = HubLease(server, "ops", "gitops-ds", identity, clock=clock or Clock(), now=lambda: NOW, **fields)
        made.append(lease)
        return lease

    yield contender
    for one in made:
        one.server.close()


def spec(hub: Hub) -> dict[str, Any]:
    found = hub.get("leases", "gitops-ds", "ops")
    assert found is not None
    said: dict[str, Any] = found["spec"]
    return said


def holds(one: HubLease | Election) -> bool:
    return one.held


Contend = Callable[..., HubLease]


def test_the_first_makes_the_lease_and_renews_it(hub: Hub, contend: Contend) -> None:
    clock = Clock()
    one = contend("one", clock)
    assert not holds(one)
    one.attempt()
    assert holds(one)
    stamp = "2026-01-15T09:00:00.000000Z"
    made = {"holderIdentity": "one", "leaseDurationSeconds": 15, "renewTime": stamp, "acquireTime": stamp}
    assert spec(hub) == {**made, "leaseTransitions": 0}
    one.now = lambda: NOW + timedelta(seconds=5)
    clock.now += 5
    one.attempt()
    assert spec(hub) == {**made, "renewTime": "2026-01-15T09:00:05.000000Z", "leaseTransitions": 0}
    clock.now += 9.9
    assert holds(one)
    clock.now += 0.2
    assert not holds(one)


def test_another_waits_for_the_whole_duration_by_its_own_clock(hub: Hub, contend: Contend) -> None:
    one, clock = contend("one"), Clock()
    two = contend("two", clock)
    one.attempt()
    clock.now += 10**6  # it has seen nothing yet, so that this time does not count
    two.attempt()
    assert (two.held, two.holder) == (False, "one")
    clock.now += 14.9
    two.attempt()
    assert not holds(two)
    clock.now += 0.2
    two.attempt()
    assert (two.held, two.holder) == (True, "two")
    assert spec(hub)["leaseTransitions"] == 1
    one.attempt()
    assert (one.held, one.holder) == (False, "two")


def test_a_renewal_that_is_seen_begins_the_wait_anew(contend: Contend) -> None:
    one, clock = contend("one"), Clock()
    two = contend("two", clock)
    one.attempt()
    two.attempt()
    for i in range(5):
        clock.now += 14
        one.now = lambda i=i: NOW + timedelta(seconds=i + 1)  # type: ignore[misc]
        one.attempt()
        two.attempt()
        assert not holds(two)


def test_the_times_that_another_wrote_are_not_believed(hub: Hub, contend: Contend) -> None:
    one, two = contend("one"), contend("two")
    one.now = lambda: datetime(1999, 1, 1, tzinfo=UTC)
    one.attempt()
    two.attempt()
    assert not holds(two)


def test_a_longer_duration_of_the_holder_counts(contend: Contend) -> None:
    one, clock = contend("one", duration=timedelta(seconds=60)), Clock()
    two = contend("two", clock)
    one.attempt()
    two.attempt()
    clock.now += 59
    two.attempt()
    assert not holds(two)
    clock.now += 2
    two.attempt()
    assert holds(two)


def test_what_is_given_back_is_taken_at_once(hub: Hub, contend: Contend) -> None:
    one, two = contend("one"), contend("two")
    two.release()
    one.attempt()
    two.attempt()
    two.release()  # it is not its own
    assert spec(hub)["holderIdentity"] == "one"
    one.release()
    assert not holds(one)
    assert spec(hub)["holderIdentity"] == ""
    two.attempt()
    assert holds(two)
    one.release()
    assert spec(hub)["holderIdentity"] == "two"


def test_a_lease_that_somebody_made_by_hand_is_used(hub: Hub, contend: Contend) -> None:
    named = {"name": "gitops-ds", "namespace": "ops", "labels": {"team": "platform"}}
    hub.put({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": named})
    one = contend("one")
    one.attempt()
    assert holds(one)
    found = hub.get("leases", "gitops-ds", "ops")
    assert found is not None
    assert found["metadata"]["labels"] == {"team": "platform"}


def test_of_many_at_once_one_gets_it(hub: Hub, contend: Contend) -> None:
    many = [contend(f"c{i}") for i in range(12)]
    for round_ in range(3):
        barrier = threading.Barrier(len(many))

        def attempt(one: HubLease, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            one.attempt()

        threads = [threading.Thread(target=attempt, args=(one,)) for one in many]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        held = [one for one in many if one.held]
        assert [one.identity for one in held] == [spec(hub)["holderIdentity"]], round_
        held[0].release()
        many.remove(held[0])


@pytest.mark.parametrize("verb", ["create", "update"])
def test_a_conflict_is_no_error_and_no_lease(verb: str, hub: Hub, contend: Contend) -> None:
    one = contend("one")
    if verb == "update":
        one.attempt()
        one.release()
    hub.fault(refuse(409, "Conflict"), plural="leases", verb=verb, times=1)
    one.attempt()
    assert not holds(one)
    one.attempt()
    assert holds(one)


def test_a_hub_that_does_not_answer_takes_nothing_away_before_its_time(hub: Hub, contend: Contend) -> None:
    clock = Clock()
    one = contend("one", clock)
    one.attempt()
    hub.fault(reset(), plural="leases")
    clock.now += 9
    with pytest.raises(HubUnreachable):
        one.attempt()
    assert holds(one)
    clock.now += 2
    assert not holds(one)
    hub.mend()
    one.attempt()
    assert holds(one)
    assert spec(hub)["leaseTransitions"] == 0


def test_a_write_whose_answer_is_lost_is_not_counted_and_not_fought_over(hub: Hub, contend: Contend) -> None:
    clock = Clock()
    one = contend("one", clock, limits=Limits(connect=5.0, read=0.2, total=5.0, tries=1))
    hub.fault(slow(0.6), plural="leases", verb="create", times=1)
    with pytest.raises(HubUnreachable):
        one.attempt()
    assert not holds(one)
    one.attempt()
    assert holds(one)


def test_the_holding_counts_from_before_the_renewal_was_sent(hub: Hub, contend: Contend) -> None:
    clock = Clock()
    one = contend("one", clock)

    def late() -> datetime:
        clock.now += 4  # the call takes four seconds
        return NOW

    one.now = late
    one.attempt()
    clock.now += 5.9
    assert holds(one)
    clock.now += 0.2
    assert not holds(one)


def test_a_right_that_is_missing_is_named(hub: Hub, contend: Contend) -> None:
    hub.fault(refuse(403), plural="leases", verb="create")
    with pytest.raises(HubError, match="may not create leases"):
        contend("one").attempt()


def test_an_attempt_ends_within_a_third_of_the_duration(hub: Hub, contend: Contend) -> None:
    limits = lease_limits(DURATION)
    assert 2 * limits.total <= DURATION.total_seconds() / 3
    assert limits.tries == 1


# Elections: the same with a thread of its own

SHORT = timedelta(seconds=3)


def log() -> tuple[io.StringIO, Log]:
    stream = io.StringIO()
    return stream, Log(stream, as_json=True, now=lambda: NOW)


def wait_for(happened: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_a_holder_that_cannot_renew_stops_before_another_begins(hub: Hub, contend: Contend) -> None:
    stream, told = log()
    changes: list[bool] = []
    limits = lease_limits(SHORT)
    mine = contend("mine", time.monotonic, duration=SHORT, limits=limits)
    election = Election(mine, told, lambda: changes.append(mine.held))
    try:
        wait_for(lambda: election.held)
        other = contend("other", time.monotonic, duration=SHORT)
        other.attempt()
        assert other.holder == "mine"
        # Only the holder is cut off: the other one's calls come by another path, so that the fault is on the update.
        hub.fault(hang(), plural="leases", verb="update", times=20)
        both = False
        while not other.held:
            both = both or (election.held and other.held)
            if not election.held:
                hub.mend()
            other.attempt()
            time.sleep(0.02)
        assert not both
        wait_for(lambda: not election.held and election.stands_by)
    finally:
        election.close()
    assert changes[:2] == [True, False]
    said = stream.getvalue()
    assert said.index("lease.acquired") < said.index("lease.error") < said.index("lease.lost")
    assert spec(hub)["holderIdentity"] == "other"


def test_an_election_renews_in_time_and_gives_back_at_its_end(hub: Hub, contend: Contend) -> None:
    stream, told = log()
    mine = contend("mine", time.monotonic, duration=SHORT)
    election = Election(mine, told, lambda: None)
    wait_for(lambda: election.held)
    before = len(hub.requests)
    wait_for(lambda: len(hub.requests) >= before + 8 or not election.held)  # four renewals: more than the duration
    assert holds(election)
    assert not election.stands_by
    election.close()
    assert spec(hub)["holderIdentity"] == ""
    assert [line.count("lease.released") for line in stream.getvalue().splitlines()] == [0, 1]


def test_the_same_trouble_is_told_once(hub: Hub, contend: Contend) -> None:
    stream, told = log()
    hub.fault(refuse(403), plural="leases")
    election = Election(contend("mine", time.monotonic, duration=SHORT), told, lambda: None)
    wait_for(lambda: len(hub.requests) >= 4)
    election.close()
    assert stream.getvalue().count("lease.error") == 1
    assert "may not get leases" in stream.getvalue()
    assert not election.stands_by


def test_whoever_follows_no_lease_may_work_and_whoever_follows_one_must_hold_it(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(hub.kubeconfig(tmp_path_factory.mktemp("kube"))))
    wanted, hub_name = Lease(namespace="ops", name="gitops-ds"), "kubernetes:emulator"
    leadership = Leadership(log()[1], lambda: None, new_identity())
    assert works(leadership)
    leadership.insist("", None)
    with pytest.raises(HeldError, match="the Lease ops/gitops-ds is not held"):
        leadership.insist(hub_name, wanted)  # a commit that came meanwhile asks for it
    leadership.follow(hub_name, wanted)
    wait_for(lambda: leadership.may_work)
    leadership.insist(hub_name, wanted)
    with pytest.raises(HeldError):
        leadership.insist("", None)
    count = spec(hub)["holderIdentity"]
    leadership.follow(hub_name, wanted)  # the same again is no other election
    assert works(leadership)
    leadership.follow(hub_name, Lease(namespace="ops", name="other"))
    assert spec(hub)["holderIdentity"] == "" != count
    with pytest.raises(InputError, match="a Lease needs a live hub"):
        leadership.follow("demo", wanted)
    assert not works(leadership)
    with pytest.raises(InputError):
        leadership.follow("demo", wanted)  # and again, in the next round
    leadership.follow("", None)
    assert works(leadership)
    leadership.close()


def works(leadership: Leadership) -> bool:
    return leadership.may_work


def test_no_two_processes_are_the_same() -> None:
    assert new_identity() != new_identity()
