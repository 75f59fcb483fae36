"""All pictures of a study."""

from teaser.evaluate.report.pictures.accuracy import draw_accuracy, draw_by_tags, draw_tail
from teaser.evaluate.report.pictures.convergence import draw_convergence
from teaser.evaluate.report.pictures.dial import draw_dial
from teaser.evaluate.report.pictures.drawing import Picture, style
from teaser.evaluate.report.pictures.feedback import draw_gain
from teaser.evaluate.report.pictures.parts import draw_parts
from teaser.evaluate.report.pictures.surface import draw_surface
from teaser.evaluate.report.tables.reported import ReportedStudy


def draw_pictures(study: ReportedStudy) -> list[Picture]:
    """Return the pictures for which the study has figures."""
    drawn: list[Picture | None] = []
    for draw in (draw_accuracy, draw_parts, draw_gain, draw_tail, draw_by_tags, draw_surface):
        with style(f"{study.key}-{draw.__name__}"):
            drawn.append(draw(study))
    if study.dial is not None:
        with style(f"{study.key}-{draw_dial.__name__}"):
            drawn.append(draw_dial(study.dial))
    with style(f"{study.key}-{draw_convergence.__name__}"):
        drawn.append(draw_convergence(study))
    return [each for each in drawn if each is not None]
