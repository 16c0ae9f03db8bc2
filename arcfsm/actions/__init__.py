"""The client of the GitHub Actions scale-set service (rules.md X1-X6), behind the engine's `ActionsPort`.

- `ActionsClients`: makes clients by their identity and keeps them (M10). Its logic runs on any event loop.
- `HttpTransports`: what they speak through in earnest: HTTP with proxies and certificate authorities of one's own.
- `AzureKeyVault`: credentials that live in a vault rather than in a Secret (M11).
"""

from arcfsm.actions.clients import ActionsClients
from arcfsm.actions.connection import CallObserver
from arcfsm.actions.over_http import HttpTransports
from arcfsm.actions.transport import HttpAnswer, HttpRequest, Transport, TransportError
from arcfsm.actions.vault import AzureKeyVault, VaultReader

__all__ = [
    "ActionsClients",
    "AzureKeyVault",
    "CallObserver",
    "HttpAnswer",
    "HttpRequest",
    "HttpTransports",
    "Transport",
    "TransportError",
    "VaultReader",
]
