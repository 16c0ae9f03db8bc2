"""Queries and explanations over the journal."""
