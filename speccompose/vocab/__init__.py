"""The nouns: frozen types that flow through the pipeline. No I/O, no decisions.

Layer: vocab (bottom). Units stand in field names: _mib, _s, _pct, _tokens, _gb_s.
Unknown keys are refused everywhere, so a typo in data is an error and never a silent default.
"""
