"""Somebody else's Compose file -> findings, each with its line. No I/O.

Layer: lint (after plan, whose rules it asks; before device). Text is read in ``compose_file``,
``service`` and ``server``; every other module holds rules, and ``check`` runs them all.
"""
