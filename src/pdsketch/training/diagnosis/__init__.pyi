"""The door of `diagnosis`: what the training code may use, and where it stands."""

from pdsketch.training.diagnosis.blanks import not_learned as not_learned
from pdsketch.training.diagnosis.examination import examine as examine
from pdsketch.training.diagnosis.measures import measure as measure
from pdsketch.training.diagnosis.report import Evaluation as Evaluation, Report as Report
