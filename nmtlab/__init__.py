"""nmtlab: an interactive workbench for low-resource neural machine translation."""

__version__ = "0.1.0"
