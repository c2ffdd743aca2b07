"""The live page of a command: the server, and the checks before it starts."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from pipeline.commands.failure import fail
from pipeline.errors import UsageError

if TYPE_CHECKING:
    from pipeline.page.server import PageServer


def check_page(asked: bool, port: int) -> None:
    """Refuse `--page-port` without `--page`."""
    if port and not asked:
        fail("--page-port needs --page.")


def page_server() -> type[PageServer]:
    """Import the server of the page; raises `UsageError` if its packages are not installed."""
    missing = [name for name in ("starlette", "uvicorn", "plotly") if not find_spec(name)]
    if missing:
        raise UsageError(
            f"--page needs {', '.join(missing)}. Install it with: pip install 'wirerank[page]'"
        )
    from pipeline.page.server import PageServer  # noqa: PLC0415 - an extra, and slow to import

    return PageServer
