"""Plans, findings, results -> text for people and JSON for scripts. Pure; prints nothing.

Layer: report.
"""
