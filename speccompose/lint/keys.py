"""Keys of a service that Compose does not know: it refuses the whole file.

Layer: lint. Pure. The names are those of the Compose specification.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from speccompose.catalog.plain_data import Plain
from speccompose.lint.noted import Ground, Noted, at
from speccompose.lint.service import Service
from speccompose.vocab.finding import error

_NAMES: Final = (
    "annotations attach blkio_config build cap_add cap_drop cgroup cgroup_parent command "
    "configs container_name cpu_count cpu_percent cpu_period cpu_quota cpu_rt_period "
    "cpu_rt_runtime cpu_shares cpus cpuset credential_spec depends_on deploy develop "
    "device_cgroup_rules devices dns dns_opt dns_search domainname entrypoint env_file "
    "environment expose extends external_links extra_hosts gpus group_add healthcheck "
    "hostname image init ipc isolation label_file labels links logging mac_address mem_limit "
    "mem_reservation mem_swappiness memswap_limit models network_mode networks "
    "oom_kill_disable oom_score_adj pid pids_limit platform ports post_start pre_start pre_stop "
    "privileged profiles provider pull_policy pull_refresh_after read_only restart runtime "
    "scale secrets security_opt shm_size stdin_open stop_grace_period stop_signal storage_opt "
    "sysctls tmpfs tty ulimits use_api_socket user userns_mode uts volumes volumes_from "
    "working_dir "
)
KEYS: Final = frozenset(_NAMES.split())
"""compose-spec/compose-spec schema/compose-spec.json, the properties of a service."""

HEALTH_KEYS: Final = frozenset(
    ("disable", "interval", "retries", "start_interval", "start_period", "test", "timeout")
)


def unknown_key(service: Service, ground: Ground) -> Iterator[Noted]:
    """A key that is misspelt, or stands at the wrong depth."""
    check = service.get("healthcheck")
    tables: list[tuple[tuple[str, ...], Mapping[str, Plain], frozenset[str]]]
    tables = [((), service.data, KEYS)]
    if isinstance(check, dict):
        tables.append((("healthcheck",), check, HEALTH_KEYS))
    for path, table, known in tables:
        for key in table:
            if key in known or key.startswith("x-"):
                continue
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.7)
            place = ".".join((*path, key))
            yield at(
                service.key_line(*path, key),
                error(
                    "unknown_key",
                    f"Compose knows no {place[:60]} in a service and refuses the file",
                    hint=f"did you mean {near[0]}?" if near else None,
                    source="compose-spec, schema",
                ),
            )
