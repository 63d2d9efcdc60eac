import { describe, expect, it } from 'vitest'
import { calloutOf } from '@/features/notes/Callout'
import { splitNote } from '@/features/notes/frontMatter'
import { FileNames } from '@/features/notes/names'
import {
  EMBED,
  excerptOf,
  linked,
  partOf,
  readAddress,
  readable,
  readLink,
  tagIn,
} from '@/features/notes/text'

/** The same table as the server's (`src/retrieval/note/names.rs`). */
const names = new FileNames([
  ...['Home.md', 'a/Note.md', 'a/b/Note.md', 'c/Note.md', 'c/d/Other.md', 'img/leaf.png', 'v1.2.md'],
  ...['a/café.md', 'x.md.md', 'Read.markdown', 'a/home.txt'],
])

describe('the file that a link means', () => {
  it.each([
    ['Home', 'c/d/Other.md', 'Home.md'],
    ['home.MD', 'a/Note.md', 'Home.md'],
    ['', 'a/Note.md', 'a/Note.md'],
    ['Note', 'a/b/Note.md', 'a/b/Note.md'],
    ['Note', 'c/d/Other.md', 'c/Note.md'],
    ['Note', 'Home.md', 'a/Note.md'],
    ['b/Note', 'c/Note.md', 'a/b/Note.md'],
    ['a/Note', 'c/Note.md', 'a/Note.md'],
    ['d/other', 'c/Note.md', 'c/d/Other.md'],
    ['../Note', 'c/d/Other.md', 'c/Note.md'],
    ['./Other', 'c/d/Other.md', 'c/d/Other.md'],
    ['../../../Home', 'c/d/Other.md', null],
    ['/Home', 'c/Note.md', 'Home.md'],
    ['/Note', 'c/Note.md', null],
    ['leaf.png', 'c/Note.md', 'img/leaf.png'],
    ['v1.2', 'c/Note.md', 'v1.2.md'],
    ['cafe\u0301', 'c/Note.md', 'a/café.md'],
    ['x.md', 'Home.md', 'x.md.md'],
    ['nowhere', 'Home.md', null],
    ['ote', 'Home.md', null],
    ['c/ther', 'Home.md', null],
  ])('%s in %s is %s', (target, from, file) => {
    expect(names.resolve(target, from)).toBe(file)
  })

  it('has a shortest text that means it from anywhere', () => {
    expect(['Home.md', 'a/Note.md', 'img/leaf.png'].map(path => names.shortest(path))).toEqual([
      ...['Home', 'a/Note', 'leaf.png'],
    ])
  })
})

const link = (label: string, target: string, place = '', written = '') =>
  `[${label}](note:${encodeURIComponent(`${target}#${place}|${written}`)})`

describe('the Markdown of a note', () => {
  it('has links, embeds and tags instead of their own syntax', () => {
    expect(linked('[[Water]] [[a/Iron|the kettle]] [[Tea#Steep]]')).toBe(
      [
        link('Water', 'Water'),
        link('the kettle', 'a/Iron', '', 'the kettle'),
        link('Tea › Steep', 'Tea', 'Steep'),
      ].join(' '),
    )
    expect(linked('![[leaf.png|200]]')).toMatch(new RegExp(`^!\\[200\\]\\(${EMBED}`))
    expect(linked('a #tea/green b#no #1 # no')).toBe('a [\\#tea\\/green](note-tag:tea%2Fgreen) b#no #1 # no')
    expect(linked('| [[a\\|b]] |')).toBe(`| ${link('b', 'a', '', 'b')} |`)
  })

  it('has no comments and no block ids', () => {
    expect(linked('a %%b%% c ^id-1\n%%\n[[x]]\n%%\nd')).toBe('a  c \n\n\n\nd')
  })

  it('leaves code as it is', () => {
    for (const text of [
      '`[[a]] #b %%c%%`',
      '```\n[[a]] #b\n```',
      '~~~\n```\n[[a]]\n~~~',
      'text\n\n    [[a]] #b\n    [[c]]',
      '\\[[a]]',
      '[[]] [[ ]] [[a\nb]]',
    ])
      expect(linked(text)).toBe(text)
    expect(linked('- a\n\n    [[b]]')).toBe(`- a\n\n    ${link('b', 'b')}`)
    expect(linked('```\n[[a]]\n```\n[[b]]')).toBe(`\`\`\`\n[[a]]\n\`\`\`\n${link('b', 'b')}`)
  })

  it('embeds only so many notes, and every picture', () => {
    expect(linked('![[a]] ![[b.png]] ![[c]] ![[d]]', 2).match(/note[\w-]*:/g)).toEqual([
      ...[EMBED, EMBED, EMBED, 'note:'],
    ])
  })

  it('cannot be led out of a link by its label', () => {
    const text = linked('[[x|)(https://evil.example) <b>]]')
    expect(text).toMatch(/^\[[^\]]+\]\(note:[\w%.-]+\)$/)
    expect(text).not.toMatch(/[^\\][)(:<>](?=[^\]]*\])/)
  })

  it('comes from any text without an error, in time', () => {
    const pieces = ['[[', ']]', '!', '%%', '#', '|', '^', '`', '```', '\n', '    ', 'a', '茶', '\ud83d', '- ']
    let seed = 7
    const next = () => {
      seed = (seed * 1103515245 + 12345) % 2147483648
      return seed
    }
    for (let i = 0; i < 500; i++) {
      let text = ''
      for (let n = next() % 40; n > 0; n--) text += pieces[next() % pieces.length]
      expect(linked(text).split('\n')).toHaveLength(text.split('\n').length)
      splitNote(text)
      readable(text)
      partOf(text, '^a')
    }
    for (const piece of ['[[', '`', '``` ', '%%', '#a/', '![[a|', '\\', '> '])
      linked(piece.repeat(300_000 / piece.length))
  })
})

describe('the parts of a link', () => {
  it('are read and written the same', () => {
    for (const written of ['a', 'a|b', 'a#b#c|d|e', '#x', 'a^id', "it's (a) *note*"]) {
      const read = readLink(written)
      const href = /\((.*)\)$/s.exec(linked(`[[${written}]]`))?.[1] ?? ''
      expect(readAddress(href)).toMatchObject({ target: read?.target, place: read?.place })
    }
    expect(tagIn('2024/a b')).toBe('2024/a')
    expect(tagIn('12')).toBe('')
    expect(readable('See [[a|the *a*]] and ![[b#c]] %%x%%.')).toBe('See the *a* and b › c .')
  })
})

describe('the front matter of a note', () => {
  it('is a list of properties', () => {
    const { properties, body } = splitNote(
      '---\ntags: [a, "#b/c"]\nn: 1.0\nlist:\n  - x\n  - y\nnone:\n---\nText',
    )
    expect(properties).toEqual([
      { name: 'tags', values: ['a', 'b/c'], tags: true },
      { name: 'n', values: ['1.0'], tags: false },
      { name: 'list', values: ['x', 'y'], tags: false },
      { name: 'none', values: [], tags: false },
    ])
    expect(body).toBe('Text')
  })

  it('is kept as it is if it is not YAML', () => {
    expect(splitNote('---\na: [b\n---\nx')).toMatchObject({ properties: null, yaml: 'a: [b' })
    expect(splitNote('text\n---\n')).toMatchObject({ yaml: null, body: 'text\n---\n' })
    expect(splitNote('---\n---\nx')).toMatchObject({ properties: [], body: 'x' })
  })
})

describe('a part of a note', () => {
  const text = '# A\none\n\n## B *b*\ntwo ^x\n\n- i\n- j ^y\n\n# C\nthree\nfour\n\n^z\n'

  it('is below a heading, up to the next that is not deeper', () => {
    expect(partOf(text, 'A')).toMatchObject({ line: 1 })
    expect(partOf(text, 'A#b b')).toEqual({ text: '## B *b*\ntwo ^x\n\n- i\n- j ^y\n', line: 4 })
    expect(partOf(text, 'none')).toBeNull()
  })

  it('is a block with an id', () => {
    expect(partOf(text, '^y')).toEqual({ text: '- j ^y', line: 8 })
    expect(partOf(text, '^z')).toEqual({ text: '# C\nthree\nfour\n\n^z', line: 10 })
    expect(partOf(text, '^none')).toBeNull()
  })
})

describe('an excerpt of a passage', () => {
  it('begins where most of the words are, without the front matter', () => {
    const text = `---\ntitle: tea leaves\n---\n# Tea\n\n${'Long before. '.repeat(9)}\nTea has [[x|leaves]].\nEnd`
    expect(excerptOf(text, ['tea', 'Leaves'])).toBe('…\nTea has leaves.\nEnd')
    expect(excerptOf(text, ['none'])).toMatch(/^# Tea\n/)
    expect(excerptOf('---\na: b\n---\n', [])).toBe('---\na: b\n---')
  })
})

describe('a callout', () => {
  it('has a kind, a title and a body', () => {
    expect(calloutOf('[!Warning]- Hot\nwater')).toEqual({
      ...{ kind: 'warning', fold: '-', title: 'Hot', body: 'water' },
    })
    expect(calloutOf('[!note]')).toMatchObject({ kind: 'note', title: '', body: '' })
    expect(calloutOf('a [!note]')).toBeNull()
  })
})
