"""`python -m arcfsm` is `arcfsm`."""

from arcfsm.cli.root import main

main()
