"""An experiment whose texts and picture try to break out of the report page."""

from __future__ import annotations

from tests.support.tiny_experiment import Tiny

HOSTILE = (
    "</title></style><script>window.hit=1</script>"
    "\"'><img src=x onerror=\"window.hit=1\"><a href='javascript:window.hit=1'>&lt;b&gt;\u202e"
)
SVG = b"""<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" onload="window.hit=1" width="10" height="10">
<script>window.hit=1</script><image href="http://192.0.2.1/x.png"/></svg>"""


class HostileTiny(Tiny):
    title = paper = text = HOSTILE
