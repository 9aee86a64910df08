"""Plots of the experiments: SVG files beside their figures, with a line for each contender over
what is varied, or a dot for each insert; and the bars of the ladder.
Titles name a device that was made slower."""

import io
import itertools

import cells
import late

plt = late.Module('drawing')

BASE, OPTION, PROFILE, FLOOR, OTHER = '#8c8c8c', '#4878a8', '#3a9a5b', '#c44e52', '#b07aa1'

OURS = {'base': BASE, 'base, 2 ms': BASE, 'base, sync': BASE, 'series': PROFILE,
        'series, sync': PROFILE, 'mongod-dur, durable.yaml': PROFILE}
OTHERS = (OPTION, OTHER, '#dd8452', '#937860', '#64b5cd', '#8c613c')


def number(value, digits=0):
    return format(value, ',.%df' % digits)


def times(ratio):
    return number(ratio, 0 if ratio >= 10 else 1)


def kind(row):
    """The colour of a server; one of --server has no patches of ours."""
    if row['selection'] is None:
        return OTHER
    name = row['name']
    return BASE if name.startswith('base') else PROFILE if name.startswith('conf') else OPTION


def label(axes, ends, texts):
    """Figures at the ends of the marks, readable where the disk's line runs through them."""
    for place, (end, text) in enumerate(zip(ends, texts)):
        axes.annotate(text, (end, place), xytext=(6, 0), textcoords='offset points', va='center',
                      fontsize=10, bbox={'facecolor': axes.get_facecolor(), 'edgecolor': 'none',
                                         'pad': 1})


def ladder_bars(axes, rows, value, floor=None):
    """A bar for each row with its figure; a dotted line for the disk alone."""
    values = [value(row) for row in rows]
    axes.barh(range(len(rows)), values, color=[kind(row) for row in rows])
    label(axes, values, [number(shown) for shown in values])
    if floor is not None:
        axes.axvline(floor, color=FLOOR, linestyle=':', linewidth=2)
    axes.set_xlim(0, 1.22 * max(values + [floor or 0]))
    axes.locator_params(axis='x', nbins=4)
    axes.xaxis.set_major_formatter(lambda x, _: number(x))


def clients_of(rows):
    return sorted({row['clients'] for row in rows})


def plural(clients):
    return '%d client%s' % (clients, '' if clients == 1 else 's')


def svg_of(figure):
    """Its element, the same for the same figure; the figure is closed."""
    figure.tight_layout()
    out = io.StringIO()
    figure.savefig(out, format='svg', metadata={'Creator': None, 'Date': None, 'Format': None,
                                                'Type': None})
    plt.close(figure)
    return out.getvalue()[out.getvalue().index('<svg'):]


def colours_of(names):
    """(colour, name) of each: ours have the same in every plot."""
    others = itertools.cycle(OTHERS)
    return [(OURS.get(name) or next(others), name) for name in names]


def title_of(text, result):
    delay = cells.delay_text(result)
    return text + (', ' + delay if delay else '')


def _save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def _finish(figure, path, axes, title, xlabel, ylabel):
    axes.yaxis.set_major_formatter(lambda y, _: number(y))
    axes.legend(fontsize=9, frameon=False)
    axes.set_title(title.replace('$', r'\$'), fontsize=11)
    axes.set_xlabel(xlabel, fontsize=10)
    axes.set_ylabel(ylabel, fontsize=10)
    axes.spines[['top', 'right']].set_visible(False)
    return _save(figure, path)


def lines(path, title, xlabel, ylabel, series, floor=None, show_x='%g'.__mod__, log_y=False):
    """A line with a band from least to most for each name.

    series    {name: [(x, median, least, most)]}; x from 0, logarithmic
    floor     a dotted line
    show_x    turns an x into its label"""
    figure, axes = plt.subplots(figsize=(6.2, 4.2))
    places = sorted({point[0] for points in series.values() for point in points})
    for colour, name in colours_of(series):
        xs, middles, least, most = zip(*sorted(series[name]))
        axes.plot(xs, middles, marker='o', markersize=4, color=colour,
                  label=name.replace('$', r'\$'))
        axes.fill_between(xs, least, most, color=colour, alpha=0.2, linewidth=0)
    if floor is not None:
        axes.axhline(floor, color=FLOOR, linestyle=':', linewidth=2, label='the disk alone')
    if places[0] > 0:
        axes.set_xscale('log')
    else:
        axes.set_xscale('symlog', linthresh=1)
        axes.set_xlim(left=-0.3)
    axes.set_xticks(places, [show_x(place) for place in places])
    axes.minorticks_off()
    if log_y:
        axes.set_yscale('log')
    else:
        axes.set_ylim(bottom=0)
    return _finish(figure, path, axes, title, xlabel, ylabel)


def course(path, title, xlabel, ylabel, series):
    """A line for each name through its values, in their order."""
    figure, axes = plt.subplots(figsize=(6.2, 4.2))
    for colour, name in colours_of(series):
        values = series[name]
        axes.plot(range(1, len(values) + 1), values, marker='o', markersize=3, color=colour,
                  label=name.replace('$', r'\$'))
    axes.locator_params(axis='x', integer=True)
    axes.set_ylim(bottom=0)
    return _finish(figure, path, axes, title, xlabel, ylabel)


def dots(path, title, xlabel, ylabel, series):
    """A panel for each name with a dot for each of its points (x, y); y is logarithmic, the axes
    are the same for all. The dots are an image in the SVG, since there are thousands."""
    names = list(series)
    figure, panels = plt.subplots(len(names), 1, sharex=True, sharey=True, squeeze=False,
                                         figsize=(6.2, 0.9 + 1.15 * len(names)))
    for axes, name in zip(panels[:, 0], names):
        axes.plot(*zip(*series[name]), '.', markersize=2, color=OPTION, rasterized=True)
        axes.set_yscale('log')
        axes.yaxis.set_major_formatter(lambda y, _: '%g' % y)
        axes.set_title(name.replace('$', r'\$'), fontsize=9, loc='left', pad=3)
        axes.spines[['top', 'right']].set_visible(False)
    panels[-1, 0].set_xlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    figure.suptitle(title.replace('$', r'\$'), fontsize=11)
    return _save(figure, path)
