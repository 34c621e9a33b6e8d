"""Files as they are read and written; what in a folder is ours to replace is in :mod:`paceline.files.replaceable`."""

from paceline.files.inputs import open_input, read_input
from paceline.files.outputs import check_folder, check_new, current_folder_is_gone, is_at, replacing, write

__all__ = [
    "check_folder",
    "check_new",
    "current_folder_is_gone",
    "is_at",
    "open_input",
    "read_input",
    "replacing",
    "write",
]
