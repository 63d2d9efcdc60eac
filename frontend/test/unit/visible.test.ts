import { expect, it } from 'vitest'
import { visible } from '@/lib/visible'

const written = (text: string): string =>
  visible(text)
    .map(piece => piece.text)
    .join('')

it('characters that cannot be seen are written out', () => {
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

it('what can be seen stays as it is, line breaks and tabs too', () => {
  const text = 'echo "héllo, 世界　!"\n\tls -la | wc 🙂'
  expect(visible(text)).toEqual([{ text, unseen: false }])
  expect(visible('')).toEqual([])
})

it('the pieces say which of them stand for something unseen', () => {
  expect(visible('a\u202eb')).toEqual([
    { text: 'a', unseen: false },
    { text: '\\u202e', unseen: true },
    { text: 'b', unseen: false },
  ])
})
