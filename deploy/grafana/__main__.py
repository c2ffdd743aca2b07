"""`python -m deploy.grafana [FOLDER] [--prometheus URL]`: write the provisioning files of Grafana.

The default FOLDER is deploy/grafana/provisioning, which deploy/grafana/compose.yaml mounts.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from deploy.grafana.files import FOLDER, IN_CONTAINER, PROMETHEUS, files, write


def main() -> None:
    """Read the command line, and write the files."""
    parser = argparse.ArgumentParser(prog="python -m deploy.grafana", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="default: deploy/grafana/provisioning")
    parser.add_argument("--prometheus", default=PROMETHEUS, help="default: %(default)s")
    asked = parser.parse_args()
    where = IN_CONTAINER if asked.folder is None else str(asked.folder.absolute())
    for path in write(asked.folder or FOLDER, files(asked.prometheus, where)):
        print(path)


if __name__ == "__main__":
    main()
