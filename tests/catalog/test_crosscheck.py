"""What files say against each other is told file by file, at its place."""


def test_contradictions_of_several_files_are_told_together(edit, mistakes):
    edit("profiles/releases.yaml", 'l4t: "36.4.7"', 'l4t: "36.4.3"')
    edit("profiles/engines/llama.cpp.yaml", "default: 512", "defualt: 512")
    edit("profiles/methods/ngram.yaml", "  llama.cpp: {", "  llamacpp: {")
    found = mistakes()
    assert [(name, path) for name, _, path, _ in found] == [
        ("profiles/releases.yaml", "releases[1].l4t"),
        ("images/llamacpp/image.yaml", "builds[0].methods[0]"),
        ("profiles/models/smol.yaml", "pairings[0].engines[0]"),
        ("profiles/methods/ngram.yaml", "engines.llamacpp"),
        ("profiles/engines/llama.cpp.yaml", "memory.runtime_mib.defualt"),
    ]
    assert all(place is not None for _, place, _, _ in found)


def test_a_broken_file_is_no_missing_one(edit, mistakes):
    """Images and models refer to the engine, whose file has a mistake of its own."""
    edit("profiles/engines/llama.cpp.yaml", "default_port: 8080", "default_port: web")
    ((name, _, path, _),) = mistakes()
    assert (name, path) == ("profiles/engines/llama.cpp.yaml", "default_port")
