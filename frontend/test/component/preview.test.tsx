import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it } from 'vitest'
import { CodeBlock } from '@/components/markdown/CodeBlock'
import { documentOf, pictureOf } from '@/components/markdown/preview'

const read = (code: string) => new DOMParser().parseFromString(documentOf(code, 'n0'), 'text/html')

it('an SVG is shown as a picture, only after a person asks for it', async () => {
  render(<CodeBlock language="svg" code="<svg><circle r='1'/></svg>" />)
  expect(screen.queryByRole('img')).toBeNull()
  await userEvent.click(screen.getByRole('button', { name: 'Preview' }))
  const picture = await screen.findByRole<HTMLImageElement>('img', { name: 'Preview' })
  expect(decodeURIComponent(picture.src)).toBe(
    `data:image/svg+xml;charset=utf-8,<svg xmlns="http://www.w3.org/2000/svg"><circle r='1'/></svg>`,
  )
  expect(screen.getByRole('button', { name: 'Preview' }).getAttribute('aria-pressed')).toBe('true')
  await userEvent.click(screen.getByRole('button', { name: 'Preview' }))
  expect(screen.queryByRole('img')).toBeNull()
})

it('an SVG with its own namespace is not changed', () => {
  const svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
  expect(decodeURIComponent(pictureOf(svg))).toContain(svg)
})

it('HTML is shown in a frame that may do nothing', async () => {
  render(<CodeBlock language="html" code="<b>x</b>" />)
  await userEvent.click(screen.getByRole('button', { name: 'Preview' }))
  const frame = await screen.findByTitle<HTMLIFrameElement>('Preview')
  expect(frame.getAttribute('sandbox')).toBe('')
  expect(frame.getAttribute('srcdoc')).toContain("default-src 'none'")
})

it.each([
  ['js', false],
  ['svg', true],
  ['html', true],
  ['mermaid', true],
])('a block in %s has no preview while it grows; afterwards: %s', (language, offered) => {
  const { rerender } = render(<CodeBlock language={language} code="<svg/>" live />)
  expect(screen.queryByRole('button', { name: 'Preview' })).toBeNull()
  rerender(<CodeBlock language={language} code="<svg/>" />)
  expect(screen.queryByRole('button', { name: 'Preview' }) !== null).toBe(offered)
})

it('a document keeps its looks, and loses what runs, loads or leads away', () => {
  const page = read(`<style>p{color:red}</style><p style="color:#123456" onclick="x()">a</p>
    <script>x()</script><img src="https://a.example/x.png" srcset="y 2x"><img src="data:image/png;base64,AA">
    <img src="data:text/html,x"><a href="https://a.example" ping="/x">b</a><a href="#in">c</a>
    <meta http-equiv="refresh" content="0;url=https://a.example"><iframe src="/"></iframe><base href="https://a.example">
    <form action="https://a.example"><button formaction="https://a.example">d</button></form><link rel="stylesheet" href="/x">`)
  const gone = 'script, iframe, base, link, [onclick], [style], [srcset], [ping], [action], [formaction]'
  expect(page.querySelector(gone)).toBeNull()
  const values = (name: string) => [...page.querySelectorAll(`[${name}]`)].map(e => e.getAttribute(name))
  expect(values('src')).toEqual(['data:image/png;base64,AA'])
  expect(values('href')).toEqual(['#in'])
  expect(values('http-equiv')).toEqual(['Content-Security-Policy'])
  const styles = [...page.querySelectorAll('style')]
  expect(styles.map(style => style.getAttribute('nonce'))).toEqual(['n0', 'n0'])
  expect(styles[1]?.textContent).toContain('color:#123456')
})

it('a style attribute cannot leave its sheet', () => {
  const page = read('<p style="x:&lt;/style&gt;&lt;script&gt;1&lt;/script&gt;">a</p>')
  expect(page.querySelector('script')).toBeNull()
})
