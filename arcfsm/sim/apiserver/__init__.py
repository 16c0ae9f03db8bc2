"""A simulated Kubernetes API server: the semantics of the real one, pure and deterministic.

Nothing in the core of this package starts a thread, reads a host clock or draws unseeded randomness: time and
randomness are handed in, so that the same requests in the same order give the same answers byte for byte.
"""
