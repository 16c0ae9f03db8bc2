"""The client of the GitHub Actions scale-set service."""
