"""What is told to a person when something cannot be done."""


class NmtlabError(Exception):
    """A problem that a person can mend: one line saying where, what, and what to do.

    Args:
        problem: what is wrong, naming the file, line or field.
        remedy: what to do about it.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


class RecipeError(NmtlabError, ValueError):
    """A recipe, or one of its fields, does not exist or has a value that is not allowed."""


class CorpusError(NmtlabError, ValueError):
    """Text that cannot be used: missing, not aligned, not UTF-8, empty, overlapping."""


class RunError(NmtlabError, OSError):
    """A run that is missing, incomplete, damaged, in use, or whose name is taken or not allowed."""
