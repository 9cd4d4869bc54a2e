"""Which policies apply: an immutable snapshot of the table, swapped whole."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .algorithms import Limit
from .conf import SettingError, conf
from .digests import tag
from .keys import KEYS, Key
from .matching import Index
from .numbers import lease_for
from .sparingly import Sparingly
from .stores import Quota
from .stores.base import text
from .validators import field_problems

log = logging.getLogger("ratelimit_app")
_unknown = Sparingly(log)


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """A policy with all that can be known before a request; built when a snapshot is."""

    slug: str
    mode: str
    quota: Quota
    key: Key
    key_name: str
    path: str
    methods: frozenset[str]
    cost: int
    on_error: str
    #: The slug as a string of a structured field (RFC 9651, section 3.3.3).
    name: str = field(init=False)
    #: Its item of the RateLimit-Policy header.
    item: str = field(init=False)

    def __post_init__(self) -> None:
        limit, period, burst = self.quota.limit
        plain = "".join(c if " " <= c <= "~" and c not in '"\\' else "?" for c in self.slug)
        object.__setattr__(self, "name", f'"{plain}"')
        # The time in which the whole capacity comes back, so that no client can beat it.
        window = -(burst * period // -(limit * 1000)) if limit else -(period // -1000)
        object.__setattr__(self, "item", f"{self.name};q={burst};w={window}")

    def covers(self, method: str) -> bool:
        """Whether it counts this method: GET covers HEAD, and none given covers all but OPTIONS."""
        if not self.methods:
            return method != "OPTIONS"
        return method in self.methods or (method == "HEAD" and "GET" in self.methods)


def compiled(fields: Mapping[str, Any], *, origin: str = "row") -> CompiledPolicy:
    """A policy from its fields, as a row has them; `origin` keeps code and rows apart.

    Raises `ValueError` where the policy cannot be, naming the value and the fix.
    """
    for problem in field_problems(fields):
        raise ValueError(problem)
    algorithm, kind, name = fields["algorithm"], fields["key"], fields["key_name"]
    limit = int(fields["limit"])
    burst = limit if fields["burst"] is None else int(fields["burst"])
    period = int(Decimal(str(fields["period"])) * 1000)
    slug = fields["slug"]
    bucket = text(tag(origin, slug, kind, name, algorithm, str(fields.get("generation", 0))))
    shadow = fields["mode"] == "shadow"
    lease = lease_for(algorithm, burst, fields["lease"], _lease_error())
    quota = Quota(
        slug,
        algorithm,
        Limit(limit, period, burst if limit else 0),
        bucket,
        shadow=shadow,
        ask_always=bool(fields["ask_always"]),
        # In shadow the store itself counts: what would be refused is what is to be learnt.
        lease=1 if shadow else lease,
    )
    return CompiledPolicy(
        slug=slug,
        mode=fields["mode"],
        quota=quota,
        key=KEYS[kind],
        key_name=name,
        path=fields["path"],
        methods=frozenset(str(method).upper() for method in fields["methods"]),
        cost=int(fields["cost"]),
        on_error=fields["on_error"],
    )


def _lease_error() -> float:
    """Exact while a setting cannot be used: a check says so, and the server at its start.

    Not the import of some view, whose rate in code is compiled to see that it can be.
    """
    try:
        return conf().lease_error
    except SettingError:
        return 0.0


class Snapshot:
    """All policies of one moment. One bad row is logged and left out; the others hold."""

    __slots__ = ("_index", "by_slug", "counts_processes", "left_out")

    def __init__(self, rows: Iterable[Mapping[str, Any]], *, strict: bool = False) -> None:
        self.by_slug: dict[str, CompiledPolicy] = {}
        #: Why a policy cannot be, by slug.
        self.left_out: dict[str, str] = {}
        self._index: Index[CompiledPolicy] = Index()
        for row in rows:
            try:
                policy = compiled(row)
                if policy.path and policy.mode != "off":
                    self._index.add(policy.path, policy)
            except Exception as error:
                if strict:
                    raise
                why = f"{type(error).__name__}: {error}"
                self.left_out[str(row.get("slug"))] = why
                log.error(
                    "Policy %r is left out: %s. Correct it in the admin.", row.get("slug"), why
                )
                continue
            self.by_slug[policy.slug] = policy
        #: Whether a policy needs to know how many processes there are, should the store fail.
        self.counts_processes = any(each.on_error == "local" for each in self.by_slug.values())

    def named(self, slug: str, method: str) -> list[CompiledPolicy]:
        """The policy of this slug, if it covers the method. A slug that is unknown is logged."""
        policy = self.by_slug.get(slug)
        if policy is None:
            _unknown.warning("A view names the policy %r, which does not exist.", slug)
            return []
        return [policy] if policy.covers(method) else []

    def matching(self, method: str, path: str, view_name: str | None) -> list[CompiledPolicy]:
        """The policies that apply to a request by its path or its view, by slug.

        `path` is the path inside the project (`path_info`); `view_name` is None where no view is.
        """
        found = self._index.by_path(path)
        if view_name is not None:
            found += self._index.by_view(view_name)
        found = [policy for policy in found if policy.covers(method)]
        if len(found) > 1:
            found.sort(key=lambda policy: policy.slug)
        return found
