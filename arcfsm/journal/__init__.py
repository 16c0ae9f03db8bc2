"""The append-only store of events: tables, codec, hash chain, snapshots and projections."""
