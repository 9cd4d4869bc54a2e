"""What the demo starts from: its tables, its policies and its admin user.

As a module (`python -m demo_project.seed`) it prepares the site for `manage.py runserver`.
"""

import os
import secrets
import time
from typing import Any

import django

USER = "demo"


def migrate() -> None:
    """Make the tables, or bring them up to date."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


def policies(limit: int, period: int) -> None:
    """One policy for each algorithm and two for the decorator; resets them if they are there.

    A new generation makes their buckets fresh, also those on a Redis that was used before.
    """
    from django.db import transaction

    from demo_project.views import SLUGS
    from ratelimit_app.models import Policy

    common: dict[str, Any] = {"mode": "enforce", "burst": None, "key": "ip", "methods": []}
    common |= {"generation": time.time_ns() // 1_000_000, "cost": 1, "on_error": "open"}
    each = [
        (slug, {"algorithm": name, "limit": limit, "period": period, "path": f"/api/{slug}/"})
        for name, slug in SLUGS.items()
    ]
    for slug, units in (("login", 5), ("search", 20)):
        # Without a path: they apply where a view names them.
        each.append((slug, {"algorithm": "gcra", "limit": units, "period": 300, "path": ""}))
    with transaction.atomic():
        for slug, fields in each:
            Policy.objects.update_or_create(slug=slug, defaults={**common, **fields})


def admin() -> str:
    """A superuser with a new password, which is returned."""
    from django.contrib.auth import get_user_model

    password = secrets.token_urlsafe(9)
    user, _ = get_user_model().objects.get_or_create(username=USER)
    user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    return password


def for_page() -> str:
    """Numbers small enough to watch on the page; returns the admin's new password."""
    policies(limit=10, period=30)
    return admin()


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "demo_project.settings"
    django.setup()
    migrate()
    print(f"Ready. Admin user: {USER}, password: {for_page()}")


if __name__ == "__main__":
    main()
