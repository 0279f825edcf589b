"""Measuring beyond one run: depth searches and what other programs measured.

Layer: measure. Above device, whose load and verdict it uses.
"""
