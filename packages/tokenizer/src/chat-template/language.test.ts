import { describe, expect, it } from 'vitest';
import { ChatTemplate } from './chat-template.js';
import { ChatTemplateRaisedError, ChatTemplateValueError } from './errors.js';

const NOW = () => new Date(2024, 6, 6, 9, 5, 3);

function run(source: string, variables: Record<string, unknown> = {}): string {
  return new ChatTemplate(source, { now: NOW }).render([], { variables, addGenerationPrompt: false });
}

/** Expressions with what Python's Jinja prints for them. */
describe('expressions', () => {
  it.each([
    ['1 + 2 * 3', '7'],
    ['7 // 2 ~ -7 // 2', '3-4'],
    ['-7 % 3', '2'],
    ['7 / 2', '3.5'],
    ['4 / 2', '2.0'],
    ['2 ** 3', '8'],
    ['2 ** -1', '0.5'],
    ["'ab' * 2", 'abab'],
    ['1 == 1.0', 'True'],
    ['none', 'None'],
    ['[1, "a", none, true, 1.5]', "[1, 'a', None, True, 1.5]"],
    ['{"a": [1], "b": "it\'s"}', "{'a': [1], 'b': \"it's\"}"],
    ['missing', ''],
    ['missing is defined', 'False'],
    ["missing or 'x'", 'x'],
    ["'a' in 'abc'", 'True'],
    ["'a' not in ['b']", 'True'],
    ["'k' in {'k': 1}", 'True'],
    ["'x' in missing", 'False'],
    ['[1, 2, 3][-1]', '3'],
    ["'héllo'[1:3]", 'él'],
    ["'abc'[::-1]", 'cba'],
    ['[1, 2, 3][:2]', '[1, 2]'],
    ["'😀x'[0]", '😀'],
    ["'a' if false else 'b'", 'b'],
    ["'a' if false", ''],
    ["not ''", 'True'],
    ["('x' ~ 1) | length", '2'],
    ["' a b '.split()", "['a', 'b']"],
    ["'a,b,c'.split(',', 1)", "['a', 'b,c']"],
    ["'a,b,c'.rsplit(',', 1)", "['a,b', 'c']"],
    ["'xxaxx'.strip('x')", 'a'],
    ["'a\\nb'.splitlines()", "['a', 'b']"],
    ["'hello world'.title()", 'Hello World'],
    ["'hELLO'.capitalize()", 'Hello'],
    ["'a-b'.partition('-')", "['a', '-', 'b']"],
    ["'aXbX'.replace('X', '-', 1)", 'a-bX'],
    ["'{} {b}'.format(1, b=2)", '1 2'],
    ["'abc'.startswith(('x', 'a'))", 'True'],
    ["'abc'.find('c')", '2'],
    ["'%s-%d' | format('a', 3)", 'a-3'],
    ['[3, 1, 2] | sort', '[1, 2, 3]'],
    ['[1, 2] | map("string") | list', "['1', '2']"],
    ['[{"a": 1}, {"a": 2}] | map(attribute="a") | join("+")', '1+2'],
    ['[{"a": 1}, {"a": 2}] | selectattr("a", "equalto", 2) | list', "[{'a': 2}]"],
    ['[{"a": 1}, {}] | rejectattr("a", "defined") | list', '[{}]'],
    ['[1, none, 2] | select | list', '[1, 2]'],
    ['{"b": 1, "a": 2} | dictsort', "[['a', 2], ['b', 1]]"],
    ['{"a": 1}.items() | list', "[['a', 1]]"],
    ['{"items": 5}["items"]', '5'],
    ['{"a": none}.get("a", 1)', 'None'],
    ['{"a": 1}.get("b", 2)', '2'],
    ['[1, [2, {"a": "<>&é"}]] | tojson', '[1, [2, {"a": "<>&é"}]]'],
    ['{"a": [], "b": {}} | tojson(indent=2)', '{\n  "a": [],\n  "b": {}\n}'],
    ['{"b": 1, "a": "é"} | tojson(ensure_ascii=true, sort_keys=true)', '{"a": "\\u00e9", "b": 1}'],
    ['[1, 2] | tojson(separators=(",", ":"))', '[1,2]'],
    ['"a\\nb\\n\\nc" | indent(2)', 'a\n  b\n\n  c'],
    ['"a\\nb" | indent(2, true)', '  a\n  b'],
    ['missing | default("d")', 'd'],
    ['"" | default("d", true)', 'd'],
    ['"12" | int + 1', '13'],
    ['"x" | int', '0'],
    ['1.55 | round(1)', '1.6'],
    ['2.5 | round | int', '2'],
    ['range(1, 10, 3) | list', '[1, 4, 7]'],
    ['[1, 2, 2] | unique | list', '[1, 2]'],
    ['[1, 2, 3] | batch(2) | list', '[[1, 2], [3]]'],
    ['dict(a=1)', "{'a': 1}"],
    ['"<b>" | escape', '&lt;b&gt;'],
    ['"1e16" | float', '1e+16'],
    ['0.1 + 0.2', '0.30000000000000004'],
    ['strftime_now("%d %b %Y %H:%M:%S %A %j")', '06 Jul 2024 09:05:03 Saturday 188'],
    ['[1, 2] is iterable and "s" is string and {} is mapping', 'True'],
  ])('%s', (expression, expected) => {
    expect(run(`{{ ${expression} }}`)).toBe(expected);
  });

  it.each([
    'missing.attribute',
    "'a' + 1",
    "none + 'a'",
    "'a' in none",
    '1 / 0',
    "'a' < 1",
    'none()',
    "''.split('')",
    '1 | length',
    '[1] | join(1)',
    'range(0, 1, 0)',
    '{1: 2}',
  ])('%s fails', (expression) => {
    expect(() => run(`{{ ${expression} }}`)).toThrow(ChatTemplateValueError);
  });
});

describe('statements', () => {
  it.each([
    [
      '{% for x in [1,2,3] if x != 2 %}{{ loop.index }}:{{ x }}{% if not loop.last %},{% endif %}{% endfor %}',
      '1:1,2:3',
    ],
    ['{% for x in [] %}a{% else %}b{% endfor %}', 'b'],
    ['{% for x in [1,2,3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}', '13'],
    ['{% for x in [1,2,3] %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}', '1'],
    ['{% for a, b in [[1,2],[3,4]] %}{{ a + b }} {% endfor %}', '3 7 '],
    ['{% set x = 1 %}{% for i in [1] %}{% set x = 2 %}{% endfor %}{{ x }}', '1'],
    ['{% for i in [1,2] %}{% if y is defined %}seen{% endif %}{% set y = 1 %}{% endfor %}', ''],
    ['{% set ns = namespace(x=1) %}{% for i in [1] %}{% set ns.x = 2 %}{% endfor %}{{ ns.x }}', '2'],
    ['{% set a, b = 1, 2 %}{{ a }}{{ b }}', '12'],
    ['{% set t %}x{{ 1 }}{% endset %}{{ t }}', 'x1'],
    ['{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=3) }}', '1213'],
    ['{% macro m() %}[{{ caller("x") }}]{% endmacro %}{% call(v) m() %}{{ v }}{% endcall %}', '[x]'],
    ['{% macro m() %}{{ varargs | length }}{{ kwargs.k }}{% endmacro %}{{ m(1, 2, k=3) }}', '23'],
    ['{% filter upper %}a{{ "b" }}{% endfilter %}', 'AB'],
    ['{% for x in [1,2] %}{{ loop.cycle("a","b") }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}', 'a2b1'],
    ['{% for x in [1,1,2] %}{% if loop.changed(x) %}{{ x }}{% endif %}{% endfor %}', '12'],
    ['a\n{%- if true %}\n  b\n{%- endif %}\nc', 'a  bc'],
    ['{# note #}x', 'x'],
    ['{% generation %}x{% endgeneration %}', 'x'],
  ])('%s', (source, expected) => {
    expect(run(source)).toBe(expected);
  });

  it('raise_exception carries the message', () => {
    expect(() => run("{{ raise_exception('no ' ~ 'tools') }}")).toThrow(ChatTemplateRaisedError);
    expect(() => run("{{ raise_exception('no ' ~ 'tools') }}")).toThrow('no tools');
  });

  it('passes variables and drops undefined ones', () => {
    expect(run('{{ a }}{{ b is defined }}{{ c is none }}', { a: 1.5, b: undefined, c: null })).toBe('1.5FalseTrue');
  });
});
