"""The door of `training`: what other rooms may use, and where it stands."""

from pdsketch.training.data.device_dataset import (
    DeviceDataset as DeviceDataset,
    put_on_device as put_on_device,
)
from pdsketch.training.data.episode import ActionTuple as ActionTuple, Episode as Episode
from pdsketch.training.data.episode_arrays import (
    DTYPES as DTYPES,
    Array as Array,
    EpisodeArrays as EpisodeArrays,
    step_of as step_of,
    width_of as width_of,
)
from pdsketch.training.data.files import (
    MANIFEST as MANIFEST,
    load_episodes as load_episodes,
    save_episodes as save_episodes,
)
from pdsketch.training.data.recorder import (
    Recorder as Recorder,
    arrays_of as arrays_of,
    join_episodes as join_episodes,
)
from pdsketch.training.diagnosis.blanks import (
    MEANINGS as MEANINGS,
    REMEDIES as REMEDIES,
    BlankReport as BlankReport,
    Verdict as Verdict,
)
from pdsketch.training.diagnosis.report import (
    Evaluation as Evaluation,
    Findings as Findings,
    Report as Report,
    page as page,
)
from pdsketch.training.fitting import (
    Source as Source,
    evaluate as evaluate,
    find_device as find_device,
    fit as fit,
    gather as gather,
    split_examples as split_examples,
)
from pdsketch.training.optimiser import (
    clip as clip,
    learning_rate as learning_rate,
    make_optimiser as make_optimiser,
)
from pdsketch.training.options import FitOptions as FitOptions, Options as Options
from pdsketch.training.progress import Progress as Progress
