"""The server and its kernels."""

import sys

# Otherwise jsonschema, which validates notebooks, builds 38 parsers of addresses that no notebook has (2.5 s).
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
