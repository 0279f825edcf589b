"""What a model really is, read from its files without loading weights.

Layer: checkpoint, after catalog, before engines. The only importer of the gguf package.
"""
