"""What effects are carried out with: the ports, the world as it is now, and the way back from markers to values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arcfsm.domain.jsonvalue import Digest, Json, JsonObject
from arcfsm.domain.world import World
from arcfsm.engine.ports import ActionsPort, ClusterPort, Runtime


class Concealment(Protocol):
    """Keeps credentials out of the journal and brings them back where they are written to the cluster."""

    def clean(self, text: str) -> str:
        """Return a text with every credential in it replaced by its marker."""
        ...

    def reveal(self, value: Json) -> Json:
        """Return JSON with its markers replaced. Raises LookupError where a value was not seen by this process."""
        ...

    def learn(self, obj: JsonObject) -> None:
        """Learn the values of an object as the API shows it."""
        ...


class Vault(Protocol):
    """A key vault that holds credentials in place of a Secret (M11)."""

    async def read(self, configuration: JsonObject, key: str) -> str:
        """Return the value of a key. Raises ServiceFailure."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything an effect may touch."""

    world: World
    cluster: ClusterPort
    actions: ActionsPort
    vault: Vault
    runtime: Runtime
    concealment: Concealment

    def document(self, wanted: Digest) -> JsonObject:
        """Return a document with its values, as it is to be written. Raises LookupError, see `Concealment.reveal`."""
        found = self.concealment.reveal(self.world.documents.mapping(wanted))
        return found if isinstance(found, dict) else {}
