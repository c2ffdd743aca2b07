"""`python -m consumers` is `wirerank`."""

import sys

from consumers.supervisor_link import die_with_parent

if "--supervised" in sys.argv:
    die_with_parent()  # before the imports below, which take seconds on a busy machine

from consumers.program import main

main()
