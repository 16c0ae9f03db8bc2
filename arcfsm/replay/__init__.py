"""Readers of history: import, time travel, verification, what-if."""
