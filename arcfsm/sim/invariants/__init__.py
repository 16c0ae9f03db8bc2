"""What must be true of every run, whatever goes wrong in it: judged request by request, and at the end."""
