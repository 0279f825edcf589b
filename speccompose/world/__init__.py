"""The machine that speccompose runs on, behind small doors: jtop, Docker's SDK, bundled weights.

Layer: world. The only code beside device/ that reads hosts, clocks, sockets and disks.
"""
