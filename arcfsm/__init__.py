"""arcfsm: an event-sourced controller for GitHub Actions runner scale sets."""

__version__ = "0.1.0"
