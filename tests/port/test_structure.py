"""Tokens, definitions and statements in code that sets traps, and edits beside them."""

import unittest

from port import tokens
from port.source import Problem, Source
from port.steps import (After, Before, BothWays, Count, Parameter, Receiver, ReplaceStatement,
                        Uncast, Wrap)


def texts(code):
    return [token.text for token in tokens.scan(code)[0]]


class OneFile:
    def __init__(self, text):
        self.file = Source('x.cpp', text)

    def source(self, _):
        return self.file


def applied(step, text):
    tree = OneFile(text)
    step.apply(tree)
    return tree.file.text


class Tokens(unittest.TestCase):
    def test_blanks_and_comments_do_not_count(self):
        for code in ('f(a+b)', 'f ( a + b )', 'f(a/*,*/+b)', 'f(// x)\na+\\\nb)', 'f(a\r\n+ b)'):
            self.assertEqual(texts(code), ['f', '(', 'a', '+', 'b', ')'], code)

    def test_what_is_one_token(self):
        self.assertEqual(texts('a->b++ <<= c::d >>e != "x\\"y" \'"\' 0xffffe000 1.5e+3f .5'),
                         ['a', '->', 'b', '++', '<<=', 'c', '::', 'd', '>>', 'e', '!=',
                          '"x\\"y"', '\'"\'', '0xffffe000', '1.5e+3f', '.5'])
        self.assertEqual(texts('R"x(a")b)x" + u8"y"'), ['R"x(a")b)x"', '+', 'u8"y"'])
        self.assertNotEqual(texts('a | b'), texts('a || b'))

    def test_strings_hide_comments_and_comments_hide_strings(self):
        self.assertEqual(texts('"/*" a /* " */ b // "\n"c"'), ['"/*"', 'a', 'b', '"c"'])

    def test_what_is_no_code_is_no_error(self):
        for code in ("#error don't\nint a;", '"open\nint a;', '\xef\xbb\xbfint a;',
                     '@ ` \x00 int a;', '/* never closed', "it's", 'R"(', '\\'):
            tokens.scan(code)
        self.assertEqual(texts("#error don't\nint a;")[-3:], ['int', 'a', ';'])

    def test_directives(self):
        found = tokens.scan('#define A(x) \\\n  f(x)\nf(1);')[0]
        self.assertEqual([t.text for t in found if not t.directive], ['f', '(', '1', ')', ';'])


DEFINITIONS = '''
    void f();                          // a declaration
    int g() { return f() ? 1 : 0; }
    /* void f() { */
    const char* s = "void f() {";
    #define F void f() {
    void caller() {
        if ( f() ) { g(); }
        while (f()) {}
        if (x && !f()) { f(); }
        else if ( f() ) { }
        return f();
    }
    MACRO(1)
    %s
'''


class Definitions(unittest.TestCase):
    def bodies(self, scope, text):
        source = Source('x.cpp', text)
        words = source.structure
        return [text[words.tokens[d.opening].start:words.tokens[d.closing].end]
                for d in source.structure.definitions(scope)]

    def test_only_the_definition(self):
        for head in ('void f() ', 'static inline void f( int a,\n int b ) ', 'void\nf() const ',
                     'std::vector< std::pair<int, A*> > f() throw() ',
                     'template <class T> T& f(T (*g)(int)) ', 'f() : a(1), b(g()) '):
            text = DEFINITIONS % (head + '{ the(); }')
            self.assertEqual(self.bodies('f', text), ['{ the(); }'], head)

    def test_none(self):
        for head in ('void A::f() {}', 'void f2() {}', 'void _f() {}', 'void f();', 'x = f() {}'):
            self.assertEqual(self.bodies('f', DEFINITIONS % head), [], head)

    def test_qualified_names_and_return_types(self):
        text = 'void A::f() {1;} bool B::f() {2;} bool A::B::f() {3;} A::A(int x) : f(x) {4;}'
        self.assertEqual(self.bodies('A::f', text), ['{1;}'])
        self.assertEqual(self.bodies('bool B::f', text), ['{2;}'])
        self.assertEqual(self.bodies('void B::f', text), [])
        self.assertEqual(self.bodies('A::A', text), ['{4;}'])
        text = 'void f() {1;} static void f(int) {2;}'
        self.assertEqual(len(self.bodies('void f', text)), 2)
        self.assertEqual(self.bodies('static void f', text), ['{2;}'])

    def test_types(self):
        text = ('class A; friend class A; template <class A> struct X {}; struct B : public A {1;};'
                'class A : B, private C<int> {2;}; class A2 {};')
        self.assertEqual(self.bodies('type A', text), ['{2;}'])
        self.assertEqual(self.bodies('type B', text), ['{1;}'])

    def test_branches_of_the_preprocessor(self):
        text = ('void f() {\n#ifdef X\n if (a) {\n#else\n if (b) {\n#endif\n }\n}\n'
                'void g() { g1(); }\n#if 0\n void h() {\n#endif\n')
        self.assertEqual(self.bodies('g', text), ['{ g1(); }'])
        self.assertIn('if (b)', self.bodies('f', text)[0])

    def test_two_are_ambiguous_and_none_has_moved(self):
        text = '#ifdef X\nvoid f() {}\n#else\nvoid f() {}\n#endif\n'
        for scope, kind in (('f', 'ambiguous'), ('g', 'moved')):
            with self.assertRaises(Problem) as raised:
                Source('x.cpp', text).definition(scope)
            self.assertEqual(raised.exception.kind, kind)


class Statements(unittest.TestCase):
    """Our lines beside the statement `here();`."""

    def both(self, text, before, after):
        self.assertEqual(applied(Before('', 'here (', 'ours();'), text), before)
        self.assertEqual(applied(After('', 'here (', 'ours();'), text), after)

    def test_on_a_line_of_its_own(self):
        self.both('{\n    here();  // why\n    next();\n}',
                  '{\n    ours();\n    here();  // why\n    next();\n}',
                  '{\n    here();  // why\n    ours();\n    next();\n}')

    def test_on_several_lines(self):
        self.both('{\n    a = here(1,\n             2);\n}',
                  '{\n    ours();\n    a = here(1,\n             2);\n}',
                  '{\n    a = here(1,\n             2);\n    ours();\n}')

    def test_beside_others_on_one_line(self):
        self.both('{\n    first(); here(); last();\n}',
                  '{\n    first(); \n        ours();\n        here(); last();\n}',
                  '{\n    first(); here();\n    ours();\n    last();\n}')

    def test_run_by_an_if(self):
        self.both('{\n    if (a)\n        here();\n    next();\n}',
                  '{\n    if (a)\n    {\n        ours();\n        here();\n    }\n    next();\n}',
                  '{\n    if (a)\n    {\n        here();\n        ours();\n    }\n    next();\n}')
        text = applied(After('', 'here (', 'ours();'), '{\n    DEV here();\n}')
        self.assertEqual(texts(text), texts('{ DEV { here(); ours(); } }'))
        text = applied(After('', 'here (', 'ours();'), '{\n  if (a) x(); else here();\n}')
        self.assertEqual(texts(text), texts('{ if (a) x(); else { here(); ours(); } }'))
        text = applied(After('', 'here (', 'ours();'), '{\n  for (;;) if (a) here();\n}')
        self.assertEqual(texts(text), texts('{ for (;;) if (a) { here(); ours(); } }'))

    def test_in_the_condition_of_an_else_if(self):
        text = '{\n    if (a) {\n    }\n    else if (here()) {\n    }\n}'
        self.assertEqual(applied(Before('', 'here (', 'ours();'), text),
                         text.replace('    if (a)', '    ours();\n    if (a)'))

    def test_after_a_block_or_a_label(self):
        for first in ('DEV { a(); }', 'if (a) { b(); }', 'try { a(); } catch (...) { }',
                      'do { a(); } while (b);', 'case 1:', 'label:', 'int a[] = { 1, 2 };',
                      'struct S { int a; } s;', '#ifdef X\n    a();\n#endif', 'MACRO { x(); }'):
            text = '{\n    %s\n    here();\n}' % first
            self.assertEqual(applied(Before('', 'here (', 'ours();'), text),
                             '{\n    %s\n    ours();\n    here();\n}' % first)

    def test_carriage_returns_and_tabs(self):
        self.both('{\r\n\there();\r\n}', '{\r\n\tours();\r\n\there();\r\n}',
                  '{\r\n\there();\r\n\tours();\r\n}')

    def test_a_comment_that_goes_on(self):
        text = applied(After('', 'here (', 'ours();'), '{\n    here(); /* a\n    b */ next();\n}')
        self.assertEqual(texts(text), texts('{ here(); ours(); next(); }'))
        text = applied(After('', 'here (', 'ours();'), '{ here(); }')
        self.assertEqual(texts(text), texts('{ here(); ours(); }'))
        text = applied(After('', 'here (', 'ours();'), 'here();')
        self.assertEqual(texts(text), texts('here(); ours();'))

    def test_wrap(self):
        step = Wrap('', 'here (', 'if (a) {\n    b();\n}\nelse {')
        self.assertEqual(applied(step, '{\n    here(1,\n         2);\n}'),
                         '{\n    if (a) {\n        b();\n    }\n    else {\n        here(1,\n'
                         '             2);\n    }\n}')

    def test_wrap_what_an_if_runs(self):
        """An else of ours must not become that of their if."""
        step = Wrap('', 'here (', 'if (a) {\n    b();\n}\nelse {')
        text = applied(step, '{\n    if (c)\n        here();\n    else\n        d();\n}')
        self.assertEqual(texts(text), texts('{ if (c) { if (a) { b(); } else { here(); } } '
                                            'else d(); }'))
        step = BothWays('', 'get ( )', 'own()', condition='x')
        text = applied(step, '{\n    if (c) f("a", get());\n    d();\n}')
        self.assertEqual(texts(text), texts('{ if (c) { if ( x ) { f("a", own()); } '
                                            'else { f("a", get()); } } d(); }'))

    def test_one_of_several_branches_is_replaced(self):
        step = ReplaceStatement('', 'here (', 'if (ours()) { o(); }', uses={'n': 1})
        text = '{ if (a) { b(); } else if (here()) { n = 1; } next(); }'
        self.assertEqual(texts(applied(step, text)),
                         texts('{ if (a) { b(); } else if (ours()) { o(); } next(); }'))
        for other in ('{ if (here()) { n = 1; } else { c(); } }', '{ if (here()) { n = n + 1; } }'):
            with self.assertRaises(Problem):
                applied(step, other)

    def test_a_cast_goes(self):
        for cast in ('(int) e.f()', 'int(e.f())', 'static_cast<int>(e.f())'):
            text = applied(Uncast('', 'int x =', 'int', 'double'), '{ int x = %s; }' % cast)
            self.assertIn(texts(text), (texts('{ double x = e.f(); }'),
                                        texts('{ double x = (e.f()); }')))
        with self.assertRaises(Problem):
            applied(Uncast('', 'int x =', 'int', 'double'), '{ int x = e.f(); }')

    def test_captures(self):
        tree = OneFile('void f( const T& a, unsigned b ) { x.y::z.call( 1 ); }')
        self.assertEqual(Parameter('', 'f').read(tree), 'a')
        self.assertEqual(Parameter('', 'f', 1).read(tree), 'b')
        self.assertEqual(Receiver('', 'call (', 'call').read(tree), 'x.y::z')
        for text in ('void f( T ) { call( 1 ); }', 'void f() { p->call(1); }'):
            tree = OneFile(text)
            for capture in (Parameter('', 'f'), Receiver('', 'call (', 'call')):
                with self.assertRaises(Problem):
                    capture.read(tree)

    def test_operands_are_computed_once(self):
        step = Count('', '_n +=', 'ours += $operand;')
        self.assertEqual(texts(applied(step, '{\n    s->_n += m;\n}')),
                         texts('{ s->_n += m; ours += m; }'))
        self.assertEqual(texts(applied(step, '{\n    if (x)\n        s->_n += m;\n}')),
                         texts('{ if (x) { s->_n += m; ours += m; } }'))
        self.assertEqual(texts(applied(step, '{\n    s->_n += t.f( 1 ); // why\n}')),
                         texts('{ { const unsigned long long amount = t.f( 1 ); s->_n += amount; '
                               'ours += amount; } }'))
        self.assertEqual(texts(applied(step, '{\n  if (x) s->_n += a // why\n + b;\n}')),
                         texts('{ if (x) { const unsigned long long amount = a + b; '
                               's->_n += amount; ours += amount; } }'))
        with self.assertRaises(Problem):
            applied(step, '{ if (s->_n += m) f(); }')
