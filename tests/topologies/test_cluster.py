"""A Redis Cluster: found by itself, slot by slot, and given back when a later slot refuses."""

import asyncio
import time

import pytest
from redis.crc import key_slot

from ratelimit_app.algorithms import ALGORITHMS, Decision
from ratelimit_app.conformance.crowds import in_threads
from ratelimit_app.conformance.subject import MIDNIGHT, quota
from ratelimit_app.stores import Store, Take, Unavailable, spread
from ratelimit_app.stores.redis import RedisStore
from ratelimit_app.stores.script import Script
from ratelimit_app.stores.spread import Spread
from ratelimit_app.stores.steps import Steps
from ratelimit_app.stores.topology import One
from ratelimit_app.stores.traced import TraceRedisStore
from tests.servers import free_port
from tests.stores.stores import PATIENT, ClockedRedisStore

from .conftest import MakeStore
from .servers import Cluster
from .where import take_on

TEN = quota("gcra", 10, 360_000)


def ask(store: Store, way: str, takes: list[Take], spend: bool = True) -> list[Decision]:
    """In this thread, or by an event loop of its own."""
    if way == "sync":
        return store.take(takes, spend=spend)
    return asyncio.run(store.atake(takes, spend=spend))


def left(store: Store, take: Take) -> int | None:
    (decision,) = store.take([take._replace(cost=0)], spend=False)
    return decision.remaining


def spread_out(store: RedisStore, takes: list[Take]) -> Steps[list[Decision]]:
    """A take whose trips the test makes."""
    return Spread(store, store.topology, takes, time.monotonic() + PATIENT).take(True)


both_ways = pytest.mark.parametrize("way", ["sync", "async"])


@both_ways
def test_a_cluster_is_found_by_its_first_answer(
    cluster: Cluster, make_redis_store: MakeStore, way: str
):
    store = make_redis_store(cluster.url)
    takes = [take_on(cluster, server, store, TEN) for server in cluster.primaries]
    assert isinstance(store.topology, One)
    for take in takes:
        assert [ask(store, way, [take])[0].remaining for _ in range(3)] == [9, 8, 7]
    assert store.topology.slot("{a}b") == key_slot(b"a")


@pytest.mark.parametrize("server", range(6))
def test_any_node_leads_to_it(cluster: Cluster, make_redis_store: MakeStore, server: int):
    """A replica says who its primary is; no node needs the script beforehand."""
    store = make_redis_store(cluster.servers[server].url)
    for primary in cluster.primaries:
        cluster.client(primary).script_flush()
        take = take_on(cluster, primary, store, TEN)
        assert [store.take([take])[0].remaining for _ in range(2)] == [9, 8]


def test_an_alias_may_name_nodes_that_are_gone(cluster: Cluster, make_redis_store: MakeStore):
    store = make_redis_store([f"redis://127.0.0.1:{free_port()}/0", cluster.url])
    takes = [take_on(cluster, server, store, TEN) for server in cluster.primaries]
    # What a first call was worth whose server is not there, nobody knows.
    with pytest.raises(Unavailable):
        store.take(takes)
    assert [each.remaining for each in store.take(takes)] == [9, 9, 9]


def test_what_belongs_to_all_is_found_from_everywhere(
    cluster: Cluster, make_redis_store: MakeStore
):
    first, second = (
        make_redis_store(server.url, KEY_PREFIX="all") for server in cluster.primaries[:2]
    )
    first.announce("edited")
    assert second.version() == "edited"
    first.beat()
    second.beat()
    assert second.processes == 2
    takes = [take_on(cluster, server, first, TEN) for server in cluster.primaries]
    first.take(takes)
    second.reset(takes)
    assert [left(first, take) for take in takes] == [10, 10, 10]


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
@both_ways
def test_a_later_refusal_gives_back_what_the_earlier_slots_took(
    cluster: Cluster, make_redis_store: MakeStore, algorithm: str, way: str
):
    store = make_redis_store(cluster.url)
    ten, two = (quota(algorithm, limit, 360_000, policy=f"p{limit}") for limit in (10, 2))
    watched = quota(algorithm, 10, 360_000, policy="watched", shadow=True)
    first = take_on(cluster, cluster.primaries[0], store, ten)
    beside = first._replace(quota=watched)
    second = take_on(cluster, cluster.primaries[1], store, two)
    third = take_on(cluster, cluster.primaries[2], store, ten)

    calls = [ask(store, way, [first, beside, second, third]) for _ in range(5)]

    assert [[each.allowed for each in call] for call in calls] == [[True] * 4] * 2 + [
        [True, True, False, True]
    ] * 3
    # Beside a refusal the other buckets are shown as they stay.
    assert [[each.remaining for each in call] for call in calls] == [
        [9, 9, 1, 9],
        *[[8, 8, 0, 8]] * 4,
    ]
    assert [left(store, take) for take in (first, beside, second, third)] == [8, 8, 0, 8]
    # A look answers the same.
    assert ask(store, way, [first, beside, second, third], spend=False) != calls[0]
    looked = ask(store, way, [third, second, first], spend=False)
    assert [(each.allowed, each.remaining) for each in looked] == [(True, 8), (False, 0), (True, 8)]


@both_ways
def test_a_refusal_stands_though_another_node_cannot_tell_of_its_bucket(
    cluster: Cluster, make_redis_store: MakeStore, way: str
):
    """Else a node that hangs would let in, by `on_error`, whom another has just refused."""
    store = make_redis_store(cluster.url, timeout=0.2)
    one = quota("gcra", 1, 360_000, policy="one")
    refusing = take_on(cluster, cluster.primaries[0], store, one)
    other = take_on(cluster, cluster.primaries[1], store, TEN)
    assert all(each.allowed for each in ask(store, way, [refusing, other]))
    cluster.primaries[1].pause()
    try:
        said = ask(store, way, [refusing, other])
    finally:
        cluster.primaries[1].resume()
    assert [(each.allowed, each.remaining) for each in said] == [(False, 0), (True, None)]
    assert left(make_redis_store(cluster.url), other) == 9


def test_a_shadow_in_a_slot_of_its_own_neither_refuses_nor_is_spent_by_a_refusal(
    cluster: Cluster, make_redis_store: MakeStore
):
    store = make_redis_store(cluster.url)
    one = quota("gcra", 1, 360_000, policy="one", shadow=True)
    shadow = take_on(cluster, cluster.primaries[0], store, one)
    take = take_on(cluster, cluster.primaries[1], store, quota("gcra", 2, 360_000))
    calls = [store.take([shadow, take]) for _ in range(3)]
    assert [[each.allowed for each in call] for call in calls] == [
        [True, True],
        [False, True],
        [False, False],
    ]


def test_threads_admit_exactly_the_limit_across_slots(
    cluster: Cluster, make_redis_store: MakeStore
):
    """Each of 32 clients has plenty; the bucket of everybody, in another slot, has 100 units."""
    store = make_redis_store(cluster.url)
    many, hundred = (quota("gcra", limit, 360_000, policy=f"{limit}") for limit in (1000, 100))
    everybody = take_on(cluster, cluster.primaries[0], store, hundred)
    own = [take_on(cluster, cluster.primaries[1 + n % 2], store, many) for n in range(32)]

    def work(index: int) -> int:
        answers = [store.take([own[index], everybody]) for _ in range(5)]
        return sum(all(each.allowed for each in answer) for answer in answers)

    assert in_threads(work) == 100
    assert left(store, everybody) == 0
    # What was refused gave back what it held: nobody's own bucket paid for it.
    assert sum(1000 - (left(store, take) or 0) for take in own) == 100


def test_while_a_unit_is_out_others_may_be_refused_and_it_comes_back(
    cluster: Cluster, make_redis_store: MakeStore
):
    store = make_redis_store(cluster.url)
    one = quota("fixed_window", 1, 360_000, policy="one")
    none_left = take_on(cluster, cluster.primaries[1], store, one)
    store.take([none_left])
    wanted = take_on(cluster, cluster.primaries[0], store, one)
    # The node has both scripts then, whichever tests were before.
    store.take([wanted])
    store.give([wanted])
    steps = spread.Spread(store, store.topology, [wanted, none_left], time.monotonic() + 20).take(
        True
    )
    asked = next(steps)
    reply = asked.node.wire.call(*asked.command, until=asked.until)

    assert not store.take([wanted])[0].allowed
    assert [each.allowed for each in finish(steps, reply)] == [True, False]
    assert store.take([wanted])[0].allowed


def test_a_crash_between_two_slots_leaves_a_unit_taken_until_it_expires(
    cluster: Cluster, make_redis_store: MakeStore
):
    store = make_redis_store(cluster.url)
    ten = quota("fixed_window", 10, 360_000)
    takes = [take_on(cluster, server, store, ten) for server in cluster.primaries]
    store.take([takes[2]])
    steps = spread_out(store, takes)
    asked = next(steps)
    asked.node.wire.call(*asked.command, until=asked.until)
    steps.close()

    assert [left(store, take) for take in takes] == [9, 10, 9]
    expires = cluster.client(cluster.primaries[0]).pttl(store.bucket(takes[0]))
    assert 0 < expires <= 360_000_000


@pytest.mark.parametrize("algorithm", ["fixed_window", "sliding_window_counter"])
def test_nothing_is_given_back_into_a_later_window(
    cluster: Cluster, make_redis_store: MakeStore, algorithm: str
):
    """Taken in one window, refused in the next: that one has what it had, and not one more."""
    store = make_redis_store(cluster.url, kind=ClockedRedisStore)
    ten, never = quota(algorithm, 10, 60), quota(algorithm, 1, 60, policy="never")
    first = take_on(cluster, cluster.primaries[0], store, ten, cost=4)
    second = take_on(cluster, cluster.primaries[1], store, never, cost=2)
    store.clock = lambda: MIDNIGHT
    store.take([first._replace(cost=6)])
    # The first slot is asked in the last millisecond of a window, the rest in the next one.
    moments = iter([MIDNIGHT + 59_999])
    store.clock = lambda: next(moments, MIDNIGHT + 60_000)
    decisions = store.take([first, second])
    assert [each.allowed for each in decisions] == [True, False]
    used = 0 if algorithm == "fixed_window" else 6
    assert left(store, first) == 10 - used
    store.clock = lambda: MIDNIGHT + 120_000
    assert left(store, first) == 10


def finish(steps: Steps[list[Decision]], reply: object) -> list[Decision]:
    """Go on after a first trip that was made by hand."""
    try:
        asked = steps.send(reply)
        while True:
            asked = steps.send(asked.node.wire.call(*asked.command, until=asked.until))
    except StopIteration as end:
        decisions: list[Decision] = end.value
        return decisions


def test_what_cannot_be_given_back_is_counted_and_fails_nobody(
    cluster: Cluster, make_redis_store: MakeStore, caplog: pytest.LogCaptureFixture
):
    store = make_redis_store(cluster.url)
    first = take_on(cluster, cluster.primaries[0], store, TEN)
    second = take_on(cluster, cluster.primaries[1], store, quota("gcra", 1, 360_000))
    store.take([first, second])
    store.giving = Script("", "give")  # Without its clock it is an error.
    before = spread.lost["reply"]
    decisions = store.take([first, second])
    assert [each.allowed for each in decisions] == [True, False]
    # Taken twice, given back never: what the answer shows is what is there.
    assert decisions[0].remaining == 8
    assert spread.lost["reply"] == before + 1
    assert "could not be given back" in caplog.text


@pytest.mark.alone
@both_ways
def test_a_node_that_hangs_costs_the_others_nothing(
    cluster: Cluster, make_redis_store: MakeStore, way: str
):
    """Shorter than the cluster's own patience: nobody takes over meanwhile."""
    store = make_redis_store(cluster.url, timeout=0.1)
    takes = [take_on(cluster, server, store, TEN) for server in cluster.primaries]
    assert [each.remaining for each in ask(store, way, takes)] == [9, 9, 9]
    cluster.primaries[1].pause()
    try:
        started = time.monotonic()
        with pytest.raises(Unavailable) as raised:
            ask(store, way, takes)
        took = time.monotonic() - started
        kinds = []
        for _ in range(6):
            with pytest.raises(Unavailable) as broken:
                ask(store, way, [takes[1]])
            kinds.append(broken.value.kind)
        others = [ask(store, way, [take])[0].remaining for take in (takes[0], takes[2])]
    finally:
        cluster.primaries[1].resume()
    assert raised.value.kind == "slow"
    assert took < 0.25 + 0.2
    # Its breaker is its own.
    assert kinds[-1] == "breaker"
    # What the first slot had taken was given back.
    assert others == [8, 8]


def test_a_trace_is_replayed_on_all_nodes(cluster: Cluster, make_redis_store: MakeStore):
    """Many in a trip where that is possible, and in the order of each bucket."""
    store = make_redis_store(cluster.url, kind=TraceRedisStore)
    takes = [take_on(cluster, server, store, quota("gcra", 3, 60)) for server in cluster.primaries]
    moments = [(MIDNIGHT + 1000 * n, take) for n in range(5) for take in takes]
    for batch in (moments[:6], moments[6:]):
        cluster.client(cluster.primaries[0]).script_flush()
        decisions = store.take_each(batch)
        expected = [1, 1, 1] if batch[0] == moments[0] else [0, 0, 0]
        assert [each.remaining for each in decisions[3:6]] == expected
    assert [each.allowed for each in decisions] == [True] * 3 + [False] * 6
    store.forget(takes)
    assert [left(store, take) for take in takes] == [3, 3, 3]
