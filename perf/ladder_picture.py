"""The picture of README.md: durable inserts a second of the newest ladder that is kept, rung by
rung, with a panel for each number of clients; once for light pages, once for dark ones.

./lab report --picture writes it anew; a test compares it with what is kept."""

import os
import statistics

import kept_results
import plots

FOLDER = os.path.join(kept_results.TOP, 'docs', 'pictures')
DARK, BRIGHT = '#0d1117', '#e6edf3'
THEMES = {'light': {}, 'dark': {
    **dict.fromkeys(('figure.facecolor', 'axes.facecolor', 'savefig.facecolor'), DARK),
    **dict.fromkeys(('text.color', 'axes.labelcolor', 'axes.edgecolor', 'xtick.color',
                     'ytick.color'), BRIGHT)}}


def draw(result, theme):
    """An SVG, as text."""
    rows, floor = result['rows'], statistics.median(result['floors'])
    counts = plots.clients_of(rows)
    with plots.plt.rc_context(THEMES[theme]):
        figure, panels = plots.plt.subplots(1, len(counts), sharey=True, squeeze=False, figsize=(
            3.6 * len(counts) + 0.6, 1 + 0.3 * len(rows) / len(counts)))
        for axes, count in zip(panels[0], counts):
            shown = [row for row in rows if row['clients'] == count]
            plots.ladder_bars(axes, shown, lambda row: row['per_second'], floor)
            axes.set_yticks(range(len(shown)), [row['name'] for row in shown])
            axes.set_title(plots.plural(count), fontsize=12)
            axes.spines[['top', 'right']].set_visible(False)
        panels[0][0].set_ylim(len(shown) - 0.4, -0.6)
        figure.supxlabel('durable inserts a second; dotted: durable writes of the disk alone, one '
                         'after the other', fontsize=10)
        return plots.svg_of(figure)


def write():
    """Draws it for both kinds of pages; returns the paths."""
    result = kept_results.newest('ladder')
    os.makedirs(FOLDER, exist_ok=True)
    paths = []
    for theme in THEMES:
        paths.append(os.path.join(FOLDER, 'ladder-%s.svg' % theme))
        with open(paths[-1], 'w', encoding='utf-8') as file:
            file.write(draw(result, theme))
    return paths
