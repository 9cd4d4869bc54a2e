"""What a decorated view is called, whatever kind of view it is: the name of a policy in code."""

from functools import partial
from typing import Any

from django.http import HttpRequest

#: On a decorated view: how many doors inside of it go by the view's own name.
DOORS = "_ratelimit_doors"


def scope(view: Any, owner: object, *, whole: bool = False) -> str:
    """Module and name of a view; `whole` leaves out the method's name.

    A method is called after the class that it runs for, not the one where it was written: two
    views that inherit it are two views. The second door on one view is `…#2`, from inside out.
    """
    if owner is None:
        name = full_name(view)
    else:
        name = _class(owner if isinstance(owner, type) else type(owner))
        name = name if whole else f"{name}.{view.__name__}"
    doors: int = getattr(view, DOORS, 0)
    return f"{name}#{doors + 1}" if doors else name


def request_in(args: tuple[Any, ...]) -> HttpRequest:
    """The request among a view's arguments: the first of a function, the second of a method."""
    for each in args[:2]:
        if (request := _request(each)) is not None:
            return request
    raise TypeError("@rate_limit found no request; decorate a view, or use limiter.take.")


def bound_to(view: Any) -> Any:
    """The instance that a view is a method of; `method_decorator` hands such views."""
    return getattr(_inner(view), "__self__", None)


def owner_in(args: tuple[Any, ...]) -> Any:
    """The instance that a method was called with; None of a function."""
    return args[0] if args and _request(args[0]) is None else None


def _request(value: object) -> HttpRequest | None:
    # Django REST Framework wraps Django's request.
    found = getattr(value, "_request", value)
    return found if isinstance(found, HttpRequest) else None


def _inner(view: Any) -> Any:
    """What partials and decorators were put around."""
    while not hasattr(view, "__self__"):
        if isinstance(view, partial):
            view = view.func
        elif hasattr(view, "__wrapped__"):
            view = view.__wrapped__
        else:
            break
    return view


def full_name(view: Any) -> str:
    """Module and name of a view, or of the class that it was made of."""
    made_of = getattr(view, "view_class", None) or getattr(view, "cls", None)
    if isinstance(made_of, type):
        # What as_view() of any class makes is called "view".
        return _class(made_of)
    view = _inner(view)
    named = view if hasattr(view, "__qualname__") else type(view)
    return f"{named.__module__}.{named.__qualname__}"


def _class(found: type) -> str:
    # Django REST Framework gives the class that it makes of a function the function's name alone.
    kept = found.__qualname__.rpartition(".")[2] == found.__name__
    return f"{found.__module__}.{found.__qualname__ if kept else found.__name__}"
