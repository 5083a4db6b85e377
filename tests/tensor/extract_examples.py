#!/usr/bin/env python3
"""Turns the ```cpp blocks of a Markdown page into a GoogleTest file, one test per block; and the examples in the
comments of headers, which are their lines that are indented further.

    std::cout << EXPRESSION;  // TEXT     checks what is printed; further comment lines continue it
    STATEMENT;  // throws: MESSAGE        checks the error
Usage: extract_examples.py PAGE.md|HEADER... OUT.cc
"""
import os
import re
import sys

PRINT = re.compile(r'^\s*std::cout << (?P<what>.*?);\s*// (?P<text>.*)$')
THROWS = re.compile(r'^\s*(?P<what>.*?);\s*// throws: (?P<text>.*)$')
MORE = re.compile(r'^(?P<indent>\s*)// (?P<text>.*)$')


def quote(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('\n', '\\n') + '"'


def convert(lines):
    out, i = [], 0
    while i < len(lines):
        line, printed, throws = lines[i], PRINT.match(lines[i]), THROWS.match(lines[i])
        i += 1
        if printed:
            text, column = printed['text'], line.index('// ')
            while i < len(lines) and (more := MORE.match(lines[i])) and len(more['indent']) == column:
                text += '\n' + more['text']
                i += 1
            out.append(f'EXPECT_EQ(printed([&](std::ostream& out) {{ out << {printed["what"]}; }}), {quote(text)});')
        elif throws:
            out.append(f'EXPECT_EQ(thrown([&] {{ (void)({throws["what"]}); }}), {quote(throws["text"])});')
        else:
            out.append(line)
    return out


def blocks_of_page(lines):
    """(line, rows) of each block."""
    block, start = None, 0
    for number, line in enumerate(lines, 1):
        if block is None and line == '```cpp':
            block, start = [], number
        elif block is not None and line == '```':
            yield start, block
            block = None
        elif block is not None:
            block.append(line)


def blocks_of_header(lines):
    block, start = [], 0
    for number, line in enumerate([*lines, ''], 1):
        example = re.match(r'\s*//   (.*)$', line)
        if example:
            start = start if block else number
            block.append(example[1])
        elif block:
            yield start, block
            block = []


def main():
    *pages, target = sys.argv[1:]
    includes, tests = [], []
    for page in pages:
        name, kind = os.path.basename(page).split('.')
        blocks = blocks_of_page if kind == 'md' else blocks_of_header
        suite = name.capitalize() + ('Page' if kind == 'md' else 'Header')
        if kind != 'md':  # a page has its own
            includes.append('#include <doorbell/doorbell.h>')
        with open(page, encoding='utf-8') as file:
            lines = file.read().splitlines()
        for start, block in blocks(lines):
            includes += [text for text in block if text.startswith('#include')]
            if body := [text for text in block if not text.startswith('#include')]:
                tests.append((suite, start, body))
    with open(target, 'w', encoding='utf-8') as out:
        out.write('// Made from examples by tests/tensor/extract_examples.py.\n')
        out.write('\n'.join(dict.fromkeys(includes)) + '\n#include "tests/tensor/examples.h"\n')
        out.write('using namespace doorbell;  // NOLINT\n')
        for suite, start, body in tests:
            out.write(f'TEST({suite}, Line{start}) {{\n' + '\n'.join(convert(body)) + '\n}\n')


if __name__ == '__main__':
    main()
