"""Kubernetes as a source of observations and a target of intents."""
