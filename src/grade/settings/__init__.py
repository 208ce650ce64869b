"""One documented settings object per stage. The command line is generated from these: nothing is declared
twice.

A field is made with `argument` (by position) or `option` (by flag) and carries its help text; `grade.terminal`
turns every field of a settings object into a parameter of the command that takes the object. A number's limits stand
beside it and are checked when the object is made, so that the same sentence reaches a caller from Python.
"""

from grade.settings.block_settings import BlocksSettings, OutlineSettings
from grade.settings.estimator_settings import (
    EstimatorSettings,
    EvaluateSettings,
    FitSettings,
    NetworkSettings,
    ScoreSettings,
    TrainingSettings,
)
from grade.settings.graph_sets import BuildSettings, DiffSettings, InfoSettings, ReadSettings
from grade.settings.mining_settings import MatchSettings, MineSettings, VerifySettings
from grade.settings.parameters import (
    PARAMETER,
    Parameter,
    Settings,
    argument,
    option,
    set_argument,
    setting,
    threads_option,
)
from grade.settings.report_settings import (
    ExportSettings,
    OccurrencesSettings,
    OutputSettings,
    ReportSettings,
    RunSettings,
)
from grade.settings.sampling_settings import CensusSettings, SampleSettings
from grade.settings.significance_settings import FeaturesSettings, SignificanceSettings
from grade.settings.timing_settings import TimeSettings

__all__ = [
    "PARAMETER",
    "BlocksSettings",
    "BuildSettings",
    "CensusSettings",
    "DiffSettings",
    "EstimatorSettings",
    "EvaluateSettings",
    "ExportSettings",
    "FeaturesSettings",
    "FitSettings",
    "InfoSettings",
    "MatchSettings",
    "MineSettings",
    "NetworkSettings",
    "OccurrencesSettings",
    "OutlineSettings",
    "OutputSettings",
    "Parameter",
    "ReadSettings",
    "ReportSettings",
    "RunSettings",
    "SampleSettings",
    "ScoreSettings",
    "Settings",
    "SignificanceSettings",
    "TimeSettings",
    "TrainingSettings",
    "VerifySettings",
    "argument",
    "option",
    "set_argument",
    "setting",
    "threads_option",
]
