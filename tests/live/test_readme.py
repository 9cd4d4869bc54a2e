"""A new project that follows the README to the letter has its limit."""

import os
import re
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from .asking import ask
from .processes import ROOT, Failed, Server

README = (ROOT / "README.md").read_text()
SERVERS = {
    "gunicorn": ["gunicorn", "mysite.wsgi", "--bind", "fd://{fd}", "--no-control-socket"],
    "uvicorn": ["uvicorn", "mysite.asgi:application", "--fd", "{fd}"],
}


def section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)```", text, re.DOTALL)


def run(*command: str | Path, cwd: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(done.stdout + done.stderr)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; everything else is borrowed from this one."""
    folder = tmp_path_factory.mktemp("readme")
    build = ["-m", "build", "--wheel", "--no-isolation", "-o", str(folder)]
    run(sys.executable, *build, cwd=ROOT)
    run(sys.executable, "-m", "venv", "--without-pip", "env", cwd=folder)
    python = folder / "env/bin/python"
    (wheel,) = folder.glob("*.whl")
    install = ["-m", "pip", "--python", str(python), "install", "-q", "--no-deps", str(wheel)]
    run(sys.executable, *install, cwd=folder)
    (packages,) = (folder / "env/lib").glob("python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.fixture(scope="module")
def project(python, tmp_path_factory, redis_server):
    """`startproject`, and then what the README says."""
    tmp_path = tmp_path_factory.mktemp("project")
    run(python, "-m", "django", "startproject", "mysite", ".", cwd=tmp_path)
    (settings,) = blocks(section("Install"), "python")
    for name in ("INSTALLED_APPS", "MIDDLEWARE"):
        settings = settings.replace(f"{name} = [...,", f"{name} = [*{name},")
    assert "[..." not in settings
    # Not the usual port: somebody's data may be there.
    settings = settings.replace("redis://127.0.0.1:6379/0", redis_server.url)
    assert "6379" not in settings
    with (tmp_path / "mysite/settings.py").open("a") as file:
        file.write(settings)
    assert "\n    python manage.py migrate\n" in section("Install")
    run(python, "manage.py", "migrate", cwd=tmp_path)
    (policy,) = blocks(section("Your first policy"), "python")
    run(python, "manage.py", "shell", "-c", policy, cwd=tmp_path)
    return tmp_path


def test_the_sixth_request_is_refused_as_the_readme_says(python, project, redis_server, tmp_path):
    (expected,) = blocks(section("Your first policy"), "http")
    env = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    # One test for both, so that one project serves both wherever tests run side by side.
    for name, command in SERVERS.items():
        log = tmp_path / name
        server = Server([str(python), "-m", *command], {**env, "PYTHONPATH": ""}, log, cwd=project)
        try:
            server.wait(1, path="/")
            with redis_server.client() as client:
                client.flushall()
                # While it was waited for it may have been refused, which it remembers for a second.
                while ask(server.port, "/").status == 429:
                    pass
                client.flushall()
            begun = time.monotonic()
            answers = [ask(server.port, "/") for _ in range(6)]
            took = time.monotonic() - begun
        finally:
            server.stop()

        assert [answer.status for answer in answers] == [200] * 5 + [429], server.output()
        assert [answer.remaining for answer in answers] == [4, 3, 2, 1, 0, 0]
        wait = answers[-1].headers["Retry-After"]
        assert 12 - took <= int(wait) <= 12
        for line in expected.splitlines()[1:]:
            header, _, value = line.partition(": ")
            assert answers[-1].headers[header] == re.sub(r"\b12\b", wait, value)
