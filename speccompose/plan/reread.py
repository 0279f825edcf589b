"""Part of stage 7 of 7: the printed Compose file is read again and compared with the plan. Pure.

What runs is what was planned: YAML -> argv, `$$` read as Compose reads it. A difference is a bug
of ours and stops before anything is written.
"""

from msgspec import Struct, ValidationError, convert

from speccompose.errors import SpecComposeError
from speccompose.vocab.plan import StackPlan


class Service(Struct, frozen=True):
    """The keys of a service that decide what runs; others are not looked at."""

    image: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: dict[str, str] = {}


class Services(Struct, frozen=True):
    """The one service of a stack."""

    server: Service


class ComposeFile(Struct, frozen=True):
    """A rendered Compose file."""

    services: Services


def check_compose(text: str, plan: StackPlan) -> None:
    """Compare the printed file with the plan.

    Raises:
        SpecComposeError: status 1, a bug of ours.
    """
    service = read_service(text)
    pairs = {
        "image": (plan.image_reference, service.image),
        "entrypoint": (plan.entrypoint, service.entrypoint),
        "command": (plan.command, service.command),
        "environment": (dict(plan.environment), service.environment),
    }
    for key, (planned, printed) in pairs.items():
        if planned != printed:
            raise SpecComposeError(
                f"the rendered Compose file does not say what was planned ({key})",
                [f"planned: {planned}", f"printed: {printed}"],
                hint="please report this with the plan options that you used",
            )


def read_service(text: str) -> Service:
    """The service of a rendered Compose file, as Compose reads it.

    Raises:
        SpecComposeError: status 1, the text is no such file.
    """
    # Here and not above: the YAML library costs 50 ms, and `plan` alone prints no Compose file.

    # Here, not above: the YAML parser takes 50 ms to import, and only `render` prints a file.
    from speccompose.catalog.yaml_file import parse_plain

    try:
        service = convert(parse_plain(text), ComposeFile).services.server
    except ValidationError as error:
        raise SpecComposeError(f"the rendered Compose file is malformed: {error}") from None
    return Service(
        image=undouble(service.image),
        entrypoint=tuple(undouble(item) for item in service.entrypoint),
        command=tuple(undouble(item) for item in service.command),
        environment={name: undouble(value) for name, value in service.environment.items()},
    )


def undouble(text: str) -> str:
    """Compose reads `$$` as `$`."""
    return text.replace("$$", "$")
