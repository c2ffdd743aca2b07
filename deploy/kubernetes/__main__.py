"""`python -m deploy.kubernetes [--api-server]`: fetch what the tests of the chart need.

That is Helm, and schemas of Kubernetes. With --api-server a real API server is built as well.
"""

from __future__ import annotations

import argparse
import sys

from deploy.kubernetes import api_server
from deploy.kubernetes.tools import ToolUnavailableError, complete, fetch, home


def main() -> int:
    """Fetch everything, and print where it is."""
    parser = argparse.ArgumentParser(prog="python -m deploy.kubernetes", description=__doc__)
    parser.add_argument("--api-server", action="store_true", help="build an API server, too")
    try:
        asked = parser.parse_args()
        fetch()
        if asked.api_server:
            complete(api_server.folder(), api_server.build_api_server)
    except (ToolUnavailableError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(home())
    return 0


if __name__ == "__main__":
    sys.exit(main())
