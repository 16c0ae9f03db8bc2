"""The functional core: events, states, machines, fold, rules, intents and desired manifests. Pure."""
