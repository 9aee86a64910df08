"""The figures in README.md are those of a kept result, its picture is drawn from it, and its
transcripts are those of today."""

import os
import re
import unittest

import kept_results
import ladder
import ladder_picture
import run
from lab import measuring as lab_measuring

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(name):
    with open(os.path.join(TOP, name), encoding='utf-8') as file:
        return file.read()


class Transcripts(unittest.TestCase):
    PAGE = read('README.md')

    def test_a_run_takes_as_long_as_its_help_says(self):
        defaults = run.make_parser().parse_args([])
        contest = ladder.Ladder([(*rung, None) for rung in run.LADDER], defaults)
        minutes = (contest.estimate_seconds() + 16 * run.FLUSH_SECONDS) / 60
        said = int(re.search(r'Later: about (\d+) minutes', lab_measuring.run_parser([]).epilog)[1])
        self.assertLess(said * 0.7, minutes)
        self.assertLess(minutes, said * 1.2)
        self.assertIn('about %s minutes' % {4: 'four', 5: 'five', 6: 'six'}[said], run.__doc__)

    def test_of_an_installation_has_as_many_packages_as_are_listed(self):
        listed = [line.split()[0] for name in ('setup/apt-build.txt', 'setup/apt-measure.txt')
                  for line in read(name).splitlines() if line and not line.startswith('#')]
        self.assertIn('lab: installing %d Debian packages: %s '
                      % (len(listed) + 1, ' '.join(listed[:7])), self.PAGE)  # with python3-venv
        python = read('setup/python.txt').split()
        self.assertIn('into build/venv, 44 MB to fetch: %s\n' % ' '.join(python), self.PAGE)

    def test_a_kept_result_has_its_day_beside_it(self):
        names = re.findall(r'perf/results/(\d{4})(\d\d)(\d\d)/\S+\.json', self.PAGE)
        self.assertGreater(len(names), 1)
        months = {'11': 'November', '12': 'December'}
        for year, month, day in names:
            self.assertRegex(self.PAGE, r'%d\s%s\s%s' % (int(day), months.get(month, '?'), year))


class Ladder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = kept_results.newest('ladder')
        with open(os.path.join(TOP, 'README.md'), encoding='utf-8') as file:
            cls.page = file.read()

    def test_lines_that_are_left_out_are_counted(self):
        names = {row['name'] for row in self.result['rows']}
        left_out = [name for name in names if '\n    %s  ' % name not in self.page]
        words = ('no one two three four five six seven eight nine ten eleven twelve thirteen '
                 'fourteen fifteen sixteen seventeen eighteen').split()
        self.assertRegex(self.page, r'had\s%s\spatches;\s%s\slines' % (
            words[len(self.result['patches'])], words[len(left_out)]))

    def test_is_what_the_program_prints_of_the_kept_result(self):
        printed = run.table(self.result).split('\n')
        shown = [line[4:] for line in self.page.split('\n') if line.startswith('    ')]
        begin = next(n for n, line in enumerate(shown) if line.startswith('This machine was'))
        end = next(n for n, line in enumerate(shown) if line.startswith('conf/durable.yaml     '))
        rows = [line for line in shown[begin:end + 3] if line]
        self.assertGreater(len(rows), 9)
        self.assertEqual([line for line in rows if line not in printed], [])

    def test_the_picture_is_drawn_from_the_kept_result(self):
        for theme in ladder_picture.THEMES:
            name = 'docs/pictures/ladder-%s.svg' % theme
            self.assertIn('"%s"' % name, self.page)
            with open(os.path.join(TOP, name), encoding='utf-8') as file:
                self.assertEqual(file.read(), ladder_picture.draw(self.result, theme),
                                 'run ./lab report --picture')

    def test_the_picture_is_on_the_first_screen_and_says_in_words_what_it_shows(self):
        before, alt = re.search(r'(?s)^(.*?)<picture>.*?alt="([^"]*)"', self.page).groups()
        self.assertLess(before.count('\n'), 20)
        for name in ('base, default', 'conf/durable.yaml'):
            for row in self.result['rows']:
                if row['name'] == name:
                    self.assertIn(format(row['per_second'], ',.0f'), alt)


class Picture(unittest.TestCase):
    def test_has_every_rung_and_figure_and_the_colours_of_its_page(self):
        result = kept_results.newest('ladder')
        light, dark = (ladder_picture.draw(result, theme) for theme in ('light', 'dark'))
        self.assertNotEqual(light, dark)
        for row in result['rows']:
            for text in (light, dark):
                self.assertIn('>%s<' % row['name'], text)
                self.assertIn('>%s<' % format(row['per_second'], ',.0f'), text)
        self.assertIn('fill: ' + ladder_picture.DARK, dark)
        self.assertIn('fill: ' + ladder_picture.BRIGHT, dark)
        self.assertNotIn('fill: #ffffff', dark)
        self.assertNotIn('fill: ' + ladder_picture.DARK, light)
        another = dict(result, rows=[dict(row, per_second=row['per_second'] + 1)
                                     for row in result['rows']])
        self.assertNotEqual(ladder_picture.draw(another, 'light'), light)
