"""How Ansible must behave, whatever its user has configured: forced for every run.

Layer: fleet. Pure. Ansible's own ideas of batches and failures are switched off, since they let a
rollout go on after a failure (GH ansible/ansible#82834, #86574); the wave decision is ours.
"""

import shlex
from collections.abc import Iterable, Mapping

from speccompose.errors import UsageError
from speccompose.vocab.base import Frozen

CONNECT_S = 10
FORKS_PER_CORE = 12
"""More was slower when measured: 200 boards took 39.7 s with 50 forks and 35.1 s with 25."""

_HARMLESS = frozenset(
    {
        *("ANSIBLE_HOME", "ANSIBLE_LOCAL_TEMP", "ANSIBLE_NOCOLOR", "ANSIBLE_FORCE_COLOR"),
        # Variables beside an inventory may be encrypted; a rollout itself opens no vault.
        *("ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_VAULT_IDENTITY_LIST"),
    }
)

PLAY = """\
- hosts: all
  gather_facts: false
  strategy: linear
  tasks:
    - name: speccompose
      speccompose_board:
        call: "{{ speccompose_call }}"
        payload: "{{ speccompose_payload }}"
        program: "{{ speccompose_program }}"
"""
"""One task: boards of a wave never wait for each other's steps, and each one finishes its own."""


class Reach(Frozen, frozen=True, kw_only=True):
    """How one board is reached. Paths are absolute; ``known_hosts`` are files, best first.

    ``hub``: the model mirror of its site, None for the usual hub.
    """

    host: str
    port: int = 22
    user: str | None = None
    key: str | None = None
    jump: str | None = None
    known_hosts: tuple[str, ...]
    sudo: bool = True
    hub: str | None = None


def ansible_environment(
    *, programs: str, library: str, config: str, control: str
) -> dict[str, str]:
    """Environment of a run: a stray ansible.cfg or variable must not change what happens.

    ``programs`` is the folder of our own Ansible, which need not be on the user's PATH.
    """
    return {
        "PATH": f"{programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "ANSIBLE_CONFIG": config,
        "ANSIBLE_LIBRARY": library,
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1",
        "ANSIBLE_INVENTORY_ENABLED": "yaml",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_GATHERING": "explicit",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "ANSIBLE_CACHE_PLUGIN": "memory",
        "ANSIBLE_STRATEGY": "linear",
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        "ANSIBLE_SYSTEM_WARNINGS": "0",
        "ANSIBLE_TIMEOUT": str(CONNECT_S),
        "ANSIBLE_SSH_CONTROL_PATH_DIR": control,
        "ANSIBLE_SSH_ARGS": ssh_arguments(),
        "ANSIBLE_SSH_RETRIES": "0",
        # Boards need no sftp: the module goes through the shell that runs it.
        "ANSIBLE_SSH_TRANSFER_METHOD": "piped",
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        "LANG": "C.UTF-8",
    }


def ssh_arguments() -> str:
    """Bounded failure detection, one connection per board, and never a question."""
    return " ".join(
        (
            "-o ControlMaster=auto",
            "-o ControlPersist=60s",
            f"-o ConnectTimeout={CONNECT_S}",
            "-o ServerAliveInterval=5",
            "-o ServerAliveCountMax=3",
            "-o BatchMode=yes",
            "-o PreferredAuthentications=publickey",
            "-o LogLevel=ERROR",
        )
    )


def inventory(
    boards: Mapping[str, Reach], calls: Mapping[str, str], shared: Mapping[str, str]
) -> dict[str, object]:
    """One JSON inventory with the boards of this call only; ``calls``: board -> its call, base64.
    ``shared`` are variables of all of them: half a megabyte is too long for a command line.

    Nothing in it can be a template: what people wrote (names, addresses) is kept to plain words by
    the fleet file's schema, and the call is base64.
    """
    hosts = {name: _variables(boards[name], call) for name, call in calls.items()}
    return {"all": {"hosts": hosts, "vars": dict(shared)}}


def _variables(reach: Reach, call: str) -> dict[str, object]:
    _refuse_templates(reach)
    # ssh splits the value at spaces by itself, so each file is quoted within it; % begins a token.
    files = " ".join(f'"{file}"'.replace("%", "%%") for file in reach.known_hosts)
    options = [
        "-o StrictHostKeyChecking=yes",
        f"-o {shlex.quote(f'UserKnownHostsFile={files}')}",
        "-o GlobalKnownHostsFile=/dev/null",
    ]
    if reach.jump is not None:
        options.append(f"-o {shlex.quote(f'ProxyJump={reach.jump}')}")
    variables: dict[str, object] = {
        "ansible_connection": "ssh",
        "ansible_host": reach.host,
        "ansible_port": reach.port,
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_common_args": " ".join(options),
        "speccompose_call": call,
    }
    if reach.user is not None:
        variables["ansible_user"] = reach.user
    if reach.key is not None:
        variables["ansible_ssh_private_key_file"] = reach.key
        variables["ansible_ssh_extra_args"] = "-o IdentitiesOnly=yes"
    return variables


def _refuse_templates(reach: Reach) -> None:
    """Ansible would run what stands between braces; no path of ours may hold any.

    Raises:
        UsageError: status 2, naming it.
    """
    words = (reach.host, reach.user, reach.key, reach.jump, *reach.known_hosts)
    for word in words:
        if word is not None and any(mark in word for mark in ("{{", "{%", "{#", '"')):
            raise UsageError(
                f"{word} cannot be handed to Ansible",
                ["it holds a quote, or braces that Ansible takes for a template"],
                hint="give the folder or file another name",
                code="template_in_path",
            )


def forks(count: int, cores: int) -> int:
    """How many boards at once."""
    return max(1, min(count, FORKS_PER_CORE * max(cores, 1)))


def refuse_foreign_settings(names: Iterable[str]) -> None:
    """Refuse variables that would change how boards are reached behind our back.

    Raises:
        UsageError: status 2, naming them.
    """
    found = sorted(name for name in names if name.startswith("ANSIBLE_") and name not in _HARMLESS)
    if found:
        raise UsageError(
            "Ansible is configured by environment variables here",
            [", ".join(found[:6])],
            hint="unset them: a rollout sets everything that it needs itself",
            code="ansible_environment",
        )
