"""The door of `files`: what other rooms may use, and where it stands."""

from pdsketch.files.lock import is_trace as is_trace, lock_file as lock_file, lock_folder as lock_folder
from pdsketch.files.parts import open_parts as open_parts, write_parts as write_parts
from pdsketch.files.reading import (
    check_seal as check_seal,
    digest_json as digest_json,
    digest_of as digest_of,
    opened as opened,
    parse_json as parse_json,
    read_bytes as read_bytes,
    read_json as read_json,
    sealed as sealed,
)
from pdsketch.files.tensors import (
    DTYPES as DTYPES,
    LEAST_MAPPED as LEAST_MAPPED,
    NUMPY as NUMPY,
    TAGS as TAGS,
    Block as Block,
    Entry as Entry,
    TensorFile as TensorFile,
    block_of as block_of,
    blocks_of as blocks_of,
    check as check,
    chunks as chunks,
    digest_blocks as digest_blocks,
    release as release,
    tensor_bytes as tensor_bytes,
    tensor_of as tensor_of,
)
from pdsketch.files.writing import (
    Lines as Lines,
    check_output as check_output,
    make_folder as make_folder,
    sweep as sweep,
    write_file as write_file,
    write_output as write_output,
)
