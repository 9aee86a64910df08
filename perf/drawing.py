"""The drawing functions of matplotlib, told once how our pages want their plots."""

import matplotlib

matplotlib.use('svg')
# Text stays text, so that a reader can search and copy it; names of parts do not change from run
# to run.
matplotlib.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'report',
                            'font.family': ['sans-serif']})
from matplotlib.pyplot import close, rc_context, subplots  # noqa: E402, F401
