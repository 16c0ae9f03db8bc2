"""The simulated cluster: API server, kubelet, Actions service, listener and faults."""
