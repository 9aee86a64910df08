"""README.md's ladder, the newest that is kept: the picture, durable inserts a second, rung by rung,
with a panel for each number of clients, once for light pages, once for dark ones; and in the text
some of what ./lab run has printed, and the figures in words.

./lab report --picture writes all anew; a test compares it with what is kept."""

import os
import pathlib
import re
import statistics
import time

import kept_results
import plots

README = os.path.join(kept_results.TOP, 'README.md')
FOLDER = os.path.join(kept_results.TOP, 'docs', 'pictures')
IN_README = ('base, default', 'base, 2 ms', 'conf/durable.yaml')
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


def page(text, result, place):
    """README.md with the figures of a result, which is kept there."""
    import claims
    import run  # which draws too

    def rates(name):
        *first, last = [format(row['per_second'], ',.0f') for row in result['rows']
                        if row['name'] == name]
        return ', '.join(first) + ' and ' + last
    others = [*run.flush_lines(result['flush_cost']), *claims.lines('run', result)]
    whole = {key: value for key, value in result.items() if key != 'one_core'}
    printed = [line for line in run.table(whole).split('\n') if not line or line not in others]
    names = dict.fromkeys(row['name'] for row in result['rows'])
    left_out = tuple(name + '  ' for name in names if name not in IN_README)
    shown = ['    ' * bool(line) + line for line in printed if not line.startswith(left_out)]
    block = '\n'.join(shown).strip('\n').replace('\n\n\n', '\n\n')
    day = time.strptime(result['time'][:10], '%Y-%m-%d')
    of = ('It is of %d %s (`%s`), with %d\npatches; %d lines of single options and what a flush '
          'costs are left out:' % (day.tm_mday, time.strftime('%B %Y', day), place,
                                   len(result['patches']), len(left_out)))
    for pattern, new in (
            (r'(?s)(?<=\n\n)    This machine was .*?(?=\n\nThe first lines are)', block),
            (r'(?s)It is\sof \d+ .*? left out:', of),
            (r'(?s)(?<=interval makes ).*?(?=, conf/)', rates(IN_README[0])),
            (r'(?s)(?<=conf/durable.yaml ).*?(?=">)', rates(IN_README[-1]))):
        text, count = re.subn(pattern, lambda _, new=new: new, text)
        assert count == 1, pattern
    return text


def write():
    """Draws it for both kinds of pages, and fills README.md; returns the paths."""
    result = kept_results.newest('ladder')
    place = os.path.relpath(kept_results.of_repository('ladder')[-1], kept_results.TOP)
    readme = pathlib.Path(README)
    readme.write_text(page(readme.read_text('utf-8'), result, place), 'utf-8')
    os.makedirs(FOLDER, exist_ok=True)
    paths = []
    for theme in THEMES:
        paths.append(os.path.join(FOLDER, 'ladder-%s.svg' % theme))
        with open(paths[-1], 'w', encoding='utf-8') as file:
            file.write(draw(result, theme))
    return paths
