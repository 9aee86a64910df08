"""The figures in README.md are those of a kept result, and its picture is drawn from it."""

import json
import os
import re
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, folder) for folder in ('perf', 'site_scons', 'tests/lib')]

import ladder_picture  # noqa: E402
import run  # noqa: E402


class Ladder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(ladder_picture.newest_ladder(), encoding='utf-8') as file:
            cls.result = json.load(file)
        with open(os.path.join(TOP, 'README.md'), encoding='utf-8') as file:
            cls.page = file.read()

    def test_is_what_the_program_prints_of_the_kept_result(self):
        printed = run.table(self.result).split('\n')
        shown = [line[4:] for line in self.page.split('\n') if line.startswith('    ')]
        begin = next(n for n, line in enumerate(shown) if line.startswith('This machine was'))
        end = next(n for n, line in enumerate(shown) if line.startswith('conf/durable.yaml     '))
        rows = [line for line in shown[begin:end + 3] if line]
        self.assertGreater(len(rows), 15)
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
        with open(ladder_picture.newest_ladder(), encoding='utf-8') as file:
            result = json.load(file)
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


if __name__ == '__main__':
    unittest.main()
