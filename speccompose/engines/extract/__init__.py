"""Sources of an engine's versions -> the tables of flags, fields and values in profiles/flags.

Layer: engines. Pure, and never used while planning: `.ci/refresh-engines` fetches the sources and
calls this. Engines are read as text (Python by ``ast``, C++ by a small scanner), never imported.
"""
