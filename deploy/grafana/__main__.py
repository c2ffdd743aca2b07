"""`python -m deploy.grafana [FOLDER] [--prometheus URL]`: write what Grafana is provisioned with.

Without FOLDER it is deploy/grafana/provisioning, as deploy/grafana/compose.yaml mounts it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.grafana.files import FOLDER, IN_CONTAINER, PROMETHEUS, files, write


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m deploy.grafana", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="default: deploy/grafana/provisioning")
    parser.add_argument("--prometheus", default=PROMETHEUS, help="default: %(default)s")
    asked = parser.parse_args()
    where = IN_CONTAINER if asked.folder is None else str(asked.folder.absolute())
    for path in write(asked.folder or FOLDER, files(asked.prometheus, where)):
        print(path)


if __name__ == "__main__":
    main()
