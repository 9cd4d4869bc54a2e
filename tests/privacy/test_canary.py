"""One client is counted by all that is known of him, and nothing of it is found anywhere."""

import io
import socket
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from ratelimit_app import limiter
from ratelimit_app.models import Policy
from tests.servers import RedisServer

from . import site
from .canary import Canary, Everything


def commands() -> bytes:
    out = io.StringIO()
    slugs = Policy.objects.values_list("slug", flat=True)
    for arguments in [["list"], ["reload"], *(["show", slug] for slug in slugs)]:
        call_command("ratelimit", *arguments, stdout=out, stderr=out)
    return out.getvalue().encode()


def admin_pages() -> bytes:
    staff = Client()
    staff.force_login(User.objects.create_superuser("staff", password="unused"))
    root = "/admin/ratelimit_app/policy/"
    ids = Policy.objects.values_list("pk", flat=True)
    pages = [
        root,
        f"{root}doctor/",
        *(f"{root}{pk}/{page}/" for pk in ids for page in ("change", "history")),
    ]
    answers = [staff.get(page) for page in pages]
    assert {answer.status_code for answer in answers} == {200}
    return b"".join(answer.content for answer in answers)


def test_a_client_is_counted_and_nothing_of_him_is_found(
    canary: Canary, server: RedisServer, logs: Everything
):
    client = server.client()
    with socket.create_connection(("127.0.0.1", server.port)) as monitor:
        monitor.sendall(b"MONITOR\r\n")
        assert monitor.recv(5) == b"+OK\r\n"
        canary.walk(3)
        canary.walk(2, site.ADDRESS_6)
        client.echo("that is all")
        sent = b""
        while b"that is all" not in sent:
            sent += monitor.recv(65_536)

    assert set(canary.statuses) == {200, 429}
    assert b"EVALSHA" in sent
    canary.assert_not_in("what Redis was sent", sent)
    buckets = [key for key in client.scan_iter() if b"rl1:{" in key]
    # Two policies count by each of six things; the one that comes first sees a second address.
    assert len(buckets) == 13
    kept = b"\n".join(key + b" " + client.dump(key) for key in client.scan_iter())
    canary.assert_not_in("a key or its value", kept)
    client.save()
    folder = Path(str(client.config_get("dir")["dir"]))
    canary.assert_not_in("Redis's file", (folder / "dump.rdb").read_bytes())
    canary.assert_not_in("a response", b"\n".join(canary.seen))
    canary.assert_not_in("a command", commands())
    canary.assert_not_in("the admin", admin_pages())
    canary.assert_not_in("a log", "\n".join(logs.text).encode(errors="surrogateescape"))


def test_nor_while_everything_fails(canary: Canary, server: RedisServer, logs: Everything):
    """A store that is gone, and a key function that raises: what is logged has nobody's name."""
    canary.walk(1)
    Policy.objects.filter(slug="path-function").update(key_name="tests.privacy.site.broken")
    canary.walk(1)
    # Else who was refused a moment ago is refused still, and the store is not missed.
    Policy.objects.filter(on_error="closed").update(ask_always=True)
    server.stop()
    canary.walk(2)

    assert set(canary.statuses) == {200, 429, 503}
    logged = "\n".join(logs.text)
    assert "The store does not answer" in logged
    assert "no tenant" in logged
    canary.assert_not_in("a response", b"\n".join(canary.seen))
    canary.assert_not_in("a log", logged.encode(errors="surrogateescape"))


def test_nor_in_an_error_of_the_limiter(canary: Canary):
    told = []
    for slug, cost in [("unknown", 1), ("path-header", -1), ("path-header", True)]:
        with pytest.raises((limiter.UnknownPolicy, ValueError)) as raised:
            limiter.take(slug, key=site.HEADER, cost=cost)
        told.append(str(raised.value).encode())
    told.append(repr(limiter.take("path-header", key=site.HEADER)).encode())
    canary.assert_not_in("an error, or a decision", b"\n".join(told))
