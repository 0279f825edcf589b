"""Verbs and flags. Each verb is one pipeline call and one report; only this layer prints.

Layer: cli (top).
"""
