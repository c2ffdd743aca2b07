"""`python -m consumers` is `wirerank`."""

from consumers.cli import main

main()
