"""`python -m arcfsm` is `arcfsm`."""

from arcfsm.cli import main

main()
