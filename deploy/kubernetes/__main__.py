"""`python -m deploy.kubernetes`: fetch Helm and the schemas that the tests of the chart need."""

from __future__ import annotations

import sys

from deploy.kubernetes.tools import ToolUnavailableError, fetch, home


def main() -> int:
    """Fetch everything, and print where it is."""
    try:
        fetch()
    except (ToolUnavailableError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(home())
    return 0


if __name__ == "__main__":
    sys.exit(main())
