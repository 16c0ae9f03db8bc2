"""The sequencer, the effect workers and the timers."""
