"""The texts of a small catalog: one entry per kind, right in itself."""

CHECKED = "source: a test\nchecked: 2026-11-30\n"

SMALL = {
    "profiles/releases.yaml": """\
releases:
  - {l4t: "36.4.3", jetpack: "6.2", ubuntu: "22.04", cuda: "12.6", families: [orin-nano],
     source: a test, checked: 2026-11-30}
  - {l4t: "36.4.7", jetpack: "6.2.1", ubuntu: "22.04", cuda: "12.6", families: [orin-nano],
     source: a test, checked: 2026-11-30}
""",
    "profiles/socs.yaml": """\
socs:
  - {id: tegra234, compute_capability: "8.7", source: a test, checked: 2026-11-30}
""",
    "profiles/devices/orin-nano-8gb.yaml": f"""\
id: orin-nano-8gb
family: orin-nano
name: Orin Nano
soc: tegra234
part_numbers: [p3767-0003, p3767-0005]
memory:
  nominal_mib: 8192
  usable_mib: 7620
  usable_evidence: seen
  os_reserve_mib: 1280
  source: a test
  checked: 2026-11-30
power_modes:
  - {{id: 0, name: 15W}}
  - {{id: 1, name: 25W, boot_default: true}}
{CHECKED}""",
    "profiles/engines/llama.cpp.yaml": f"""\
id: llama.cpp
name: llama.cpp
default_port: 8080
floor: b8708
compile_allowance_s: 60
memory: {{runtime_mib: {{default: 512}}, shm_mib: 64, source: a test, checked: 2026-11-30}}
flags:
  - {{name: "-c", source: a test}}
{CHECKED}""",
    "profiles/methods/ngram.yaml": f"""\
id: ngram
name: n-gram lookup
engines:
  llama.cpp: {{argument: ngram-simple, since: b8708, source: a test}}
depth_default: 4
separate_draft: false
parallel: false
{CHECKED}""",
    "profiles/models/smol.yaml": f"""\
id: smol
name: Smol
base_model: org/Smol
architecture: llama
checkpoints:
  - {{repo: org/Smol-GGUF, format: gguf, quant: Q4_1, file: smol.gguf, weights_mib: 98,
     min_engine: {{llama.cpp: b8708}}, source: a test, checked: 2026-11-30}}
pairings:
  - {{method: ngram, engines: [llama.cpp], targets: [org/Smol-GGUF], source: a test,
     checked: 2026-11-30}}
{CHECKED}""",
    "images/llamacpp/image.yaml": f"""\
id: llamacpp
engine: llama.cpp
name: llama.cpp
rank: 1
runs_on:
  - {{families: [orin-nano], l4t_since: "36.4.0", l4t_below: "37.0.0", evidence: seen,
     source: a test, checked: 2026-11-30}}
own_entrypoint: []
entrypoint: [llama-server]
health_tool: curl
download_mib: 100
repositories: [ghcr.io/org/llamacpp]
builds:
  - {{version: b8708, version_evidence: seen, reference: "ghcr.io/org/llamacpp:b8708",
     methods: [ngram], evidence_on: [orin-nano], source: a test, checked: 2026-11-30}}
{CHECKED}""",
    "compose/compose.yaml.j2": "services: {}\n",
}
