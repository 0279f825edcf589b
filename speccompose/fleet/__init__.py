"""Fleets: planned offline, rolled out in waves, journaled, resumable. Layer: fleet."""
