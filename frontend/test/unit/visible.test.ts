import { expect, it } from 'vitest'
import { visible } from '@/lib/visible'

const written = (text: string): string =>
  visible(text)
    .map(piece => piece.text)
    .join('')

it('invisible characters are written out', () => {
  for (const [char, as] of [
    ['\u202e', '\\u202e'],
    ['\u200b', '\\u200b'],
    ['\u0007', '\\u0007'],
    ['\r', '\\u000d'],
    ['\u00a0', '\\u00a0'],
    ['\u00ad', '\\u00ad'],
    ['\u3164', '\\u3164'],
    ['\u2800', '\\u2800'],
    ['\ufe0f', '\\ufe0f'],
    ['\u{e0041}', '\\u{e0041}'],
    ['\u2028', '\\u2028'],
  ] as const) {
    expect(written(`ls${char} -la`)).toBe(`ls${as} -la`)
  }
})

it('visible characters, line breaks and tabs stay as they are', () => {
  const text = 'echo "héllo, 世界　!"\n\tls -la | wc 🙂'
  expect(visible(text)).toEqual([{ text, unseen: false }])
  expect(visible('')).toEqual([])
})

it('the pieces say which of them stand for an invisible character', () => {
  expect(visible('a\u202eb')).toEqual([
    { text: 'a', unseen: false },
    { text: '\\u202e', unseen: true },
    { text: 'b', unseen: false },
  ])
})

it('of all code points, exactly those that Unicode calls invisible are written out', () => {
  const hidden =
    /^(?:\p{Cc}|\p{Cf}|\p{Co}|\p{Cs}|\p{Cn}|\p{Zl}|\p{Zp}|\p{Zs}|\p{Default_Ignorable_Code_Point})$/u
  const blank = (code: number) =>
    [0x2800, 0x16fe4, 0x1d159].includes(code) || (code >= 0x13430 && code <= 0x1345f)
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const char = String.fromCodePoint(code)
    const shows = '\n\t \u3000'.includes(char) || !(hidden.test(char) || blank(code))
    if ((written(char) === char) !== shows) wrong.push(code.toString(16))
  }
  expect(wrong).toEqual([])
})
