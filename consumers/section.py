"""What all sections of the configuration have in common, and secrets that are kept in files."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from pipeline.access import read_secret


class Section(BaseModel):
    """A section of the configuration: unknown keys are refused, values cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class SecretsSection(Section):
    """A section with secrets: each can be given as it is, or as the name of a file that holds it.

    The file of `password` is `password_file`. It is read again whenever the secret is used, because
    secrets are changed while workers run.
    """

    @property
    def secret_files(self) -> dict[str, Path]:
        """The files that are given, by the name of the secret."""
        names = [name.removesuffix("_file") for name in type(self).model_fields]
        given = {name: getattr(self, f"{name}_file", None) for name in names if self._has(name)}
        return {name: path for name, path in given.items() if path is not None}

    @classmethod
    def _has(cls, name: str) -> bool:
        """Whether the section has a secret of this name, and a setting for its file."""
        return name in cls.model_fields and f"{name}_file" in cls.model_fields

    def secret(self, name: str) -> str | None:
        """A secret, read from its file if it has one; raises ValueError if that is not possible."""
        path = self.secret_files.get(name)
        if path is not None:
            try:
                return read_secret(path)
            except ValueError as error:
                raise ValueError(f"{name}_file = {error}") from None
        value: SecretStr | None = getattr(self, name)
        return None if value is None else value.get_secret_value()

    @model_validator(mode="after")
    def _check_secret_files(self) -> SecretsSection:
        for name in self.secret_files:
            if getattr(self, name) is not None:
                raise ValueError(f"{name} and {name}_file are both given; write one of the two")
            self.secret(name)
        return self


def expanded(path: Path) -> Path:
    """A path that may begin with `~`, the home folder."""
    try:
        if "\0" in str(path):
            raise RuntimeError("a path has no null byte")
        return path.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{path} cannot be used: {error}; write an absolute path") from None
