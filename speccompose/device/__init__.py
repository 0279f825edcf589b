"""What runs on a board: read it, switch stacks on it, verify and measure them.

Layer: device. Standard library and itself only, Python 3.8 (`probe`, `command` and `errors` 3.6),
because boards get no pip install. The same code serves `deploy` on this machine and is packed
into the program that a rendered stack carries.
"""
