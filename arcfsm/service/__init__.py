"""The long-running service: settings, leader election, health, metrics, pages."""
