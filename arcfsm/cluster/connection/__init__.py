"""The real API server behind the engine's port, over the official client's configuration and connection pool."""

from arcfsm.cluster.connection.access import AccessSource, ClusterAccess, NoClusterError
from arcfsm.cluster.connection.port import HttpCluster, Observer
from arcfsm.cluster.connection.streams import HttpWatch

__all__ = ["AccessSource", "ClusterAccess", "HttpCluster", "HttpWatch", "NoClusterError", "Observer"]
