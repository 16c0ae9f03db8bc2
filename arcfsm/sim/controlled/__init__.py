"""arcfsm itself as the controller of a simulated world: the real engine behind simulated ports."""
