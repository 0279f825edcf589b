"""YAML under profiles/ and images/ -> the frozen Catalog, or every mistake at once.

Layer: catalog. Reads files and decides nothing. Doors: ruamel.yaml in ``yaml_file``, jsonschema
in ``validate``. ``facts_file`` reads and writes what was read from a board.
"""
