"""The command line: the composition root that people see. `root.main` runs it."""
