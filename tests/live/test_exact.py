"""Exact counts across processes where they are promised, and the defect where they are not."""

import time

from .asking import Answer, at_once

#: Windows are aligned to the epoch: the longer of two that do not end together.
WINDOW = max((20_000_000, 31_000_000), key=lambda period: period - time.time() % period)
#: Seconds in which nothing comes back while a test runs.
PERIODS = {
    "gcra": 360_000,
    "token_bucket": 360_000,
    "leaky_bucket": 360_000,
    "sliding_window_log": 360_000,
    "sliding_window_counter": WINDOW,
    "fixed_window": WINDOW,
}
POLICIES = f"""
for algorithm, period in {PERIODS}.items():
    Policy.objects.create(
        slug=algorithm, algorithm=algorithm, limit=100, period=period, key="global",
        path=f"/{{algorithm}}/",
    )
"""


def admitted(answers: list[Answer]) -> int:
    assert {answer.status for answer in answers} <= {200, 429}
    return sum(answer.status == 200 for answer in answers)


def test_three_processes_on_one_redis_admit_exactly_the_limit(make_site, redis_url, redis_server):
    site = make_site(redis=redis_url)
    site.editor().run(POLICIES)
    gunicorn, uvicorn = site.gunicorn(2), site.uvicorn()
    gunicorn.wait(2)
    uvicorn.wait(1)
    ports = [gunicorn.port, gunicorn.port, uvicorn.port]
    requests = dict.fromkeys(PERIODS, 300) | {"gcra": 1000}

    answers = {
        name: at_once((ports * 334)[:number], f"/{name}/") for name, number in requests.items()
    }

    assert {name: admitted(each) for name, each in answers.items()} == dict.fromkeys(PERIODS, 100)
    assert {answer.pid for answer in answers["gcra"]} == gunicorn.pids | uvicorn.pids

    with redis_server.client() as client:
        before = client.info("persistence")["rdb_changes_since_last_save"]
        refused = at_once((ports * 67)[:200], "/gcra/")
        after = client.info("persistence")["rdb_changes_since_last_save"]
    assert admitted(refused) == 0
    assert after == before


def test_three_processes_with_leases_are_within_them(make_site, redis_url):
    """Nothing comes back meanwhile, so never more than the limit; and what the others hold less."""
    site = make_site(redis=redis_url)
    site.editor().run(
        POLICIES.replace("limit=100", "lease=LEASE, limit=1000").replace(
            "LEASE", "20 if algorithm != 'sliding_window_log' else None"
        )
    )
    gunicorn, uvicorn = site.gunicorn(2), site.uvicorn()
    gunicorn.wait(2)
    uvicorn.wait(1)
    ports = [gunicorn.port, gunicorn.port, uvicorn.port]

    answers = at_once(ports * 400, "/gcra/")

    assert {answer.pid for answer in answers} == gunicorn.pids | uvicorn.pids
    assert 1000 - 2 * 20 <= admitted(answers) <= 1000


def test_processes_that_share_no_memory_admit_the_limit_each(make_site):
    """The defect that Redis is for: three processes with a limit of 100 let 300 through."""
    site = make_site()
    site.editor().run(POLICIES)
    servers = [site.gunicorn(1), site.gunicorn(1), site.uvicorn()]
    for server in servers:
        server.wait(1)

    answers = at_once([server.port for server in servers] * 150, "/gcra/")

    assert admitted(answers) == 300


def test_a_server_on_an_event_loop_is_exact_with_few_connections(
    make_site, redis_url, redis_server
):
    site = make_site(redis=redis_url)
    site.editor().run(POLICIES.replace('f"/{algorithm}/"', 'f"/async/{algorithm}/"'))
    server = site.uvicorn()
    server.wait(1)

    with redis_server.client() as client:
        before = len(client.client_list())
        answers = at_once([server.port] * 200, "/async/gcra/", threads=200)
        opened = len(client.client_list()) - before

    assert admitted(answers) == 100
    # At most as many as the alias's pool may have, and one of the thread that looks for edits.
    assert opened <= 100 + 1
