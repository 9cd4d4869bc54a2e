"""A browser's part in the admin: a session, the form of a page as it stands, and its submission."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from urllib.parse import urlencode

from .asking import Answer, ask
from .processes import Editor

_LOGIN = """
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
user = User.objects.create_superuser("staff", password="unused")
session = SessionStore()
session[SESSION_KEY] = str(user.pk)
session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session.save()
value = session.session_key
"""


class _Fields(HTMLParser):
    """What a browser would send of all forms of a page, had nobody touched them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._select = self._area = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = dict(attrs)
        name, value = has.get("name") or "", has.get("value") or ""
        if tag == "select":
            self._select = name
        elif tag == "option" and "selected" in has and self._select:
            self.found.append((self._select, value))
        elif tag == "textarea":
            self._area = name
            self.found.append((name, ""))
        elif tag == "input" and name:
            kind = has.get("type", "text")
            ticked = kind not in ("checkbox", "radio") or "checked" in has
            if ticked and kind not in ("submit", "button", "search"):
                self.found.append((name, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.found[-1] = (self._area, data.lstrip("\n"))


class Browser:
    """A member of staff who is logged in; `editor` makes the user and the session."""

    def __init__(self, port: int, editor: Editor) -> None:
        editor.run(_LOGIN)
        self._port = port
        self._cookies = f"sessionid={editor.value}"

    def submit(self, path: str, changes: Mapping[str, str]) -> float:
        """Open the page, change these fields, submit; the moment at which it was submitted."""
        page = self._ask(path)
        token = re.search(r"csrftoken=\w+", page.headers.get("Set-Cookie", ""))
        if token:
            self._cookies += f"; {token[0]}"
        fields = [pair for pair in _Fields(page.body.decode()).found if pair[0] not in changes]
        fields += changes.items()
        answer = self._ask(path, urlencode(fields))
        # Django's admin answers a submission that it took with a redirect.
        assert answer.status == 302, answer.body.decode()
        return answer.sent

    def _ask(self, path: str, body: str | None = None) -> Answer:
        headers = {"Cookie": self._cookies}
        if body is None:
            return ask(self._port, path, headers)
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return ask(self._port, path, headers, "POST", body)
