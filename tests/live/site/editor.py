"""A process of the site that serves nobody: runs the code that it reads, one JSON text a line.

Answers each with the moment (on the clock that all processes share) before and after it.
"""

import json
import sys
import time
import traceback

import django


def main() -> None:
    django.setup()
    names: dict[str, object] = {}
    for line in sys.stdin:
        before, error = time.monotonic(), None
        try:
            exec(json.loads(line), names)
        except Exception:
            error = traceback.format_exc()
        answer = {"before": before, "after": time.monotonic(), "error": error}
        print(json.dumps({**answer, "value": names.pop("value", None)}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
